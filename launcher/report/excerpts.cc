#include "excerpts.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "json.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/source_place.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"

// A reader looks at few stacks and logs, so equal ones are shown once and those of suspects come
// first. Stacks are compared without the numbers of their threads, which differ between ranks that
// stand at the same line. A source is read only if it has not changed since the stack was taken.
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
  std::string result;
  for (std::size_t at = stack.find(kThread); at != std::string_view::npos;
       at = stack.find(kThread)) {
    result += stack.substr(0, at + kThread.size());
    stack.remove_prefix(at + kThread.size());
    stack.remove_prefix(std::min(stack.find_first_not_of("0123456789"), stack.size()));
  }
  return result.append(stack);
}

namespace fs = std::filesystem;

constexpr std::size_t kMostSourceLines = 1'000;
constexpr std::size_t kMostSources = 100;
constexpr std::size_t kLongestSource = 200;

// Names of files with the numbers of the lines that are wanted.
using Wanted = std::map<std::string, std::set<int>, std::less<>>;

void take_places(std::string_view stack, Wanted& wanted, std::size_t& places) {
  while (!stack.empty()) {
    const std::string_view place = place_of_frame(take_word(stack, '\n'));
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos || places == kMostSourceLines) continue;
    const std::string file(place.substr(0, colon));
    const auto line = to_number(place.substr(colon + 1));
    const bool room = wanted.size() < kMostSources || wanted.contains(file);
    if (line && *line > 0 && room && wanted[file].insert(*line).second) ++places;
  }
}

// Each is "PLACE<tab>LINE".
std::string lines_of(const std::string& name, const std::set<int>& numbers,
                     const fs::path& directory, fs::file_time_type stood) {
  const fs::path path = fs::path(name).is_absolute() ? fs::path(name) : directory / name;
  std::error_code error;
  if (const auto written = fs::last_write_time(path, error); error || written > stood) return {};
  const std::string source = user_file_text(path).value_or("");
  std::string lines;
  int number = 0;
  for (std::string_view rest = source; !rest.empty();) {
    const std::string_view line = take_word(rest, '\n');
    if (numbers.contains(++number))
      lines += fmt::format("{}:{}\t{}\n", name, number, cut(line, kLongestSource));
  }
  return lines;
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
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = from == 0 ? std::string_view::npos : text.rfind('\n', from - 1);
    if (end == std::string_view::npos) return text;
    from = end;
  }
  return from == text.size() ? std::string_view() : text.substr(from + 1);
}

std::string extent_in_words(const RecordedFile& file) {
  if (file.left_out == 0) return rough_size(file.size);
  return fmt::format("the last {} of {}", rough_size(file.size - file.left_out),
                     rough_size(file.size));
}

std::string standstill_in_words(const AttemptHistory& attempt) {
  if (!attempt.standstill || attempt.verdict) return {};
  const auto& [at, text, earlier, over_after] = *attempt.standstill;
  std::string words = fmt::format("{} stood still after {}: {}", record::subject(attempt.serves),
                                  describe_duration(at - attempt.began), text);
  if (!over_after.empty()) words += "; it went on after " + over_after;
  if (earlier > 0)
    words += fmt::format(" (and {} time{} before)", earlier, earlier == 1 ? "" : "s");
  return words;
}

// Only Python files are read: a process of the job chooses the names, and the page may be shown to
// others.

SourceLines read_sources(std::string_view text) {
  SourceLines lines;
  while (!text.empty()) {
    std::string_view line = take_word(text, '\n');
    const std::string place(take_word(line, '\t'));
    if (!place.empty() && line.find_first_not_of(" \t\r") != std::string_view::npos)
      lines[place] = line.substr(line.find_first_not_of(" \t\r"));
  }
  return lines;
}

std::string_view place_of_frame(std::string_view line) {
  if (!line.starts_with("  ")) return {};
  line.remove_prefix(2);
  line = line.substr(0, std::min(line.size(), line.rfind(' ')));
  const std::size_t colon = line.rfind(':');
  const bool python = colon != std::string_view::npos && line.substr(0, colon).ends_with(".py");
  return python ? line : std::string_view();
}

// "train.py:12 in load_data → wait" stands in the frame "/home/ann/train.py:12 load_data".
std::vector<std::string> with_source_lines(const Failure& failure, const fs::path& directory) {
  Wanted wanted;
  std::size_t count = 0;
  for (const MissingRank& missing : failure.missing) take_places(missing.stack, wanted, count);
  SourceLines lines;  // by "train.py:12"
  for (const auto& [name, numbers] : wanted)
    for (const auto& [place, line] :
         read_sources(lines_of(name, numbers, directory, fs::file_time_type::clock::now())))
      lines.emplace(base_name(place), printable(line));
  std::vector<std::string> places = failure.places;
  for (std::string& place : places)
    if (const auto line = lines.find(source_place(place)); line != lines.end())
      place += ":  " + line->second;
  return places;
}

void add_sources(RunFiles& files) {
  Wanted wanted;
  std::size_t places = 0;
  fs::file_time_type stood = fs::file_time_type::max();
  for (const RecordedFile& file : files.files) {
    if (!file.name.ends_with(".stack")) continue;
    std::error_code error;
    const auto written = fs::last_write_time(files.directory / file.name, error);
    if (!error) stood = std::min(stood, written);
    take_places(file.text, wanted, places);
  }
  if (wanted.empty()) return;
  const fs::path directory = text_of(parse_json<Json>(files.text("job.json")), "directory");
  RecordedFile sources{kSources, {}, 0, 0};
  for (const auto& [name, numbers] : wanted)
    sources.text += lines_of(name, numbers, directory, stood);
  sources.size = sources.text.size();
  files.files.push_back(std::move(sources));
}

}  // namespace safelaunch::report
