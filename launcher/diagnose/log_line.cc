#include "log_line.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/failure_words.h"

// The kind of a line is decided by its form alone: NCCL's level, the W of glog and torch, the
// word 'Warning: ', or an exception's name at the front. The line behind torch's 'Last error:'
// is NCCL's own. Tags are taken off first, whatever their number.
namespace safelaunch::diagnose {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Takes "[rank3]:" or "[default3]:" and a blank off the front. Only the first form gives the rank:
/// torchrun's tee writes the *local* rank in the second.
bool strip_tag(std::string_view& line, std::optional<Rank>& rank) {
  if (!line.starts_with('[')) return false;
  const std::size_t end = line.find("]:");
  if (end == std::string_view::npos || end > 32) return false;
  const std::string_view word = line.substr(1, end - 1);
  const std::size_t digits = word.find_first_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  const auto number = to_number(word.substr(digits));
  if (!number) return false;
  if (word.substr(0, digits) == "rank") rank = Rank{*number};
  line.remove_prefix(end + 2);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return true;
}

/// A progress bar draws itself over the beginning of its line, and has no line end.
void strip_bar(std::string_view& line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (const std::size_t drawn = line.rfind('\r'); drawn != std::string_view::npos)
    line.remove_prefix(drawn + 1);
  for (const std::string_view begin : {std::string_view("[rank"), kTracebackBegins}) {
    const std::string_view front = line.substr(0, std::min(line.find(begin), line.size()));
    if (front.size() < line.size() && (has_bar(front) || trimmed(front).empty()))
      line.remove_prefix(front.size());
  }
}

void strip_colour(std::string_view& line) {
  const std::size_t end = line.starts_with("\x1b[") ? line.find('m') : std::string_view::npos;
  if (end != std::string_view::npos && end <= 12) line.remove_prefix(end + 1);
}

/// Whether the line goes on behind these characters, where 0 stands for any digit.
bool begins_as(std::string_view shape, std::string_view line) {
  const auto fits = [](char want, char is) {
    return want == '0' ? is >= '0' && is <= '9' : want == is;
  };
  return line.size() > shape.size() &&
         std::ranges::equal(shape, line.substr(0, shape.size()), fits);
}

/// Takes SGLang's "[2026-11-29 20:51:39 TP1] Scheduler hit an exception: " off a traceback's front.
bool strip_words_before_traceback(std::string_view& line) {
  constexpr std::size_t kMost = 96;
  const std::size_t at = line.substr(0, kMost).find("hit an exception: Traceback");
  if (!line.starts_with('[') || !has_date(line.substr(1)) || at == line.npos) return false;
  line.remove_prefix(line.find("Traceback", at));
  return true;
}

/// Takes "WARNING 11-29 09:12:40 [core.py:953] " off the front.
void strip_head(LogLine& line) {
  constexpr std::string_view kTime = "00-00 00:00:00 ";
  const std::size_t level = line.text.find(' ') + 1;
  const std::string_view behind = line.text.substr(level);
  const std::size_t end = behind.find(']');
  if (!begins_as(kTime, behind) || end == std::string_view::npos) return;
  const std::string_view place = behind.substr(kTime.size(), end - kTime.size());
  line.place = place.substr(place.starts_with('[') ? 1 : 0);
  if (line.text.starts_with("WARNING ")) line.kind = LineKind::warning;
  line.text = behind.substr(end + 1);
  if (line.text.starts_with(' ')) line.text.remove_prefix(1);
}

/// Whether the line calls itself a warning: "[W1121 11:51:20.3 socket.cpp:469]", older "[W
/// socket.cpp:464]", glog's "W1121 11:51:05 …", and Python's "a.py:7: UserWarning: …".
bool is_warning(std::string_view line) {
  const std::string_view head = line.substr(line.starts_with('[') ? 1 : 0);
  const bool torch = line.starts_with("[W") || has_glog_head(line);
  const bool by_level = torch && head.starts_with('W') && head.size() > 1 &&
                        (head[1] == ' ' || (head[1] >= '0' && head[1] <= '9'));
  return by_level || line.find("Warning: ") != std::string_view::npos;
}

LineKind kind_of(std::string_view line) {
  const std::size_t nccl = line.find(" NCCL ");
  if (nccl != std::string_view::npos) {
    const std::string_view level = line.substr(nccl + 6);
    if (level.starts_with("INFO ")) return LineKind::nccl_info;
    if (level.starts_with("WARN ") || level.starts_with("ATTN ")) return LineKind::nccl_warn;
  }
  if (is_warning(line)) return LineKind::warning;
  return split_error(line).type.empty() ? LineKind::plain : LineKind::python_error;
}

std::string_view tail(std::string_view text) {
  if (text.size() <= kLongestText) return text;
  text.remove_prefix(text.size() - kLongestText);
  return text.substr(std::min(text.find('\n'), text.size()));
}

}  // namespace

ErrorLine split_error(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && (is_word(line[end]) || line[end] == '.')) ++end;
  const std::string_view type = line.substr(0, end);
  if (end < line.size() && line[end] != ':') return {};
  constexpr std::array<std::string_view, 5> kEndings = {"Error", "Exception", "Interrupt", "Exit",
                                                        "Warning"};
  const bool named = std::ranges::any_of(
      kEndings, [&](std::string_view ending) { return type.ends_with(ending); });
  if (!named) return {};
  const std::string_view rest = line.substr(std::min(end + 1, line.size()));
  return {type, rest.starts_with(' ') ? rest.substr(1) : rest};
}

std::optional<int> number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + words.size());
  return take_number(text);
}

std::optional<int> take_process(std::string_view& line) {
  constexpr std::size_t kLongestTag = 96;
  std::string_view rest = line;
  strip_colour(rest);
  const std::size_t end = rest.find(')');
  if (!rest.starts_with('(') || end > kLongestTag || end == std::string_view::npos)
    return std::nullopt;
  const auto pid = number_after(rest.substr(0, end), "pid=");
  rest.remove_prefix(end + 1);
  strip_colour(rest);
  if (!pid || !rest.starts_with(' ')) return std::nullopt;
  line = rest.substr(1);
  return pid;
}

bool has_bar(std::string_view line) {
  return line.find("%|") != std::string_view::npos;
}

bool has_glog_head(std::string_view line) {
  constexpr std::string_view kLevels = "IWEF";
  return !line.empty() && kLevels.find(line.front()) != std::string_view::npos &&
         begins_as("0000 00:00:00", line.substr(1));
}

bool has_date(std::string_view line) {
  return begins_as("0000-00-00 00:00:00", line) || begins_as("0000-00-00T00:00:00", line);
}

void for_each_line(std::string_view text, const std::function<void(const LogLine&)>& visit) {
  text = tail(text);
  bool reason_follows = false;
  for (std::size_t number = 0; !text.empty(); ++number) {
    LogLine line{take_word(text, '\n'), std::nullopt, LineKind::plain, number};
    strip_bar(line.text);
    line.text = line.text.substr(0, kLongestLine);
    while (take_process(line.text) || strip_tag(line.text, line.rank) ||
           strip_words_before_traceback(line.text))
      continue;
    strip_head(line);
    if (line.text.empty()) continue;
    if (line.kind == LineKind::plain)
      line.kind = reason_follows ? LineKind::nccl_warn : kind_of(line.text);
    reason_follows = line.text == "Last error:";
    visit(line);
  }
}

}  // namespace safelaunch::diagnose
