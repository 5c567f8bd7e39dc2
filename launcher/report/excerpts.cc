#include "excerpts.h"

#include <algorithm>
#include <array>
#include <map>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::report {
namespace {

// "rank-3", "rank-3.err" → 3.
std::optional<Rank> rank_named(std::string_view name) {
  constexpr std::string_view kRank = "rank-";
  if (!name.starts_with(kRank)) return std::nullopt;
  name.remove_prefix(kRank.size());
  const auto rank = take_number(name);
  return rank ? std::optional(Rank{*rank}) : std::nullopt;
}

bool holds(const std::vector<Rank>& ranks, std::optional<Rank> rank) {
  return rank && std::find(ranks.begin(), ranks.end(), *rank) != ranks.end();
}

int interest_of(const RecordedFile& log, const std::vector<Rank>& suspected) {
  if (holds(suspected, rank_named(log.name))) return 0;
  return log.name.starts_with("launcher.") ? 1 : 2;
}

// A stack without the numbers of its threads, which differ between ranks that stand alike.
std::string comparable(std::string_view stack) {
  constexpr std::string_view kThread = "thread thread ";
  std::string result(stack);
  for (std::size_t at = result.find(kThread); at != std::string::npos;
       at = result.find(kThread, at + kThread.size())) {
    const std::size_t number = at + kThread.size();
    result.erase(number, result.find_first_not_of("0123456789", number) - number);
  }
  return result;
}

std::string size_in_words(std::uintmax_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1'000 && unit + 1 < kUnits.size(); ++unit) value /= 1'000;
  return unit == 0 ? fmt::format("{} bytes", bytes)
                   : fmt::format("{:.1f} {}", value, kUnits.at(unit));
}

}  // namespace

std::vector<SharedStack> shared_stacks(const AttemptHistory& attempt) {
  const std::vector<Rank> suspected = suspects(attempt);
  std::map<std::string, SharedStack> by_text;
  for (const RecordedFile& stack : attempt.stacks) {
    const std::optional<Rank> rank = rank_named(stack.name);
    if (!rank) continue;
    SharedStack& shared = by_text[comparable(stack.text)];
    if (shared.ranks.empty()) shared.text = stack.text;
    shared.ranks.push_back(*rank);
    shared.suspect |= holds(suspected, rank);
  }
  std::vector<SharedStack> result;
  for (auto& [text, shared] : by_text) result.push_back(std::move(shared));
  std::sort(result.begin(), result.end(), [](const SharedStack& a, const SharedStack& b) {
    return std::tuple(!a.suspect, a.ranks) < std::tuple(!b.suspect, b.ranks);
  });
  return result;
}

std::vector<const RecordedFile*> logs_by_interest(const AttemptHistory& attempt) {
  const std::vector<Rank> suspected = suspects(attempt);
  std::vector<const RecordedFile*> logs;
  for (const RecordedFile& log : attempt.logs) logs.push_back(&log);
  std::stable_sort(logs.begin(), logs.end(), [&](const RecordedFile* a, const RecordedFile* b) {
    return interest_of(*a, suspected) < interest_of(*b, suspected);
  });
  return logs;
}

std::string_view last_lines(std::string_view text, std::size_t count) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::size_t from = text.size();
  for (std::size_t i = 0; i < count && from != 0; ++i) {
    const std::size_t end = text.rfind('\n', from - 1);
    if (end == std::string_view::npos) return text;
    from = end;
  }
  return from == text.size() ? std::string_view() : text.substr(from + (from < text.size()));
}

std::string extent_in_words(const RecordedFile& file) {
  if (file.left_out == 0) return size_in_words(file.size);
  return fmt::format("the last {} of {}", size_in_words(file.size - file.left_out),
                     size_in_words(file.size));
}

}  // namespace safelaunch::report
