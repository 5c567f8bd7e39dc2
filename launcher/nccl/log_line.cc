#include "safelaunch/nccl/log_line.h"

#include "words.h"

namespace safelaunch::nccl {
namespace {

/// "[2026-11-20 18:15:23] ", "[rank3]: ", "[default0]:"
void drop_tags(std::string_view& head) {
  constexpr std::size_t kLongestTag = 64;
  while (head.starts_with('[')) {
    const std::size_t end = head.substr(0, kLongestTag).find(']');
    if (end == std::string_view::npos) return;
    head.remove_prefix(end + 1);
    if (head.starts_with(':')) head.remove_prefix(1);
    while (head.starts_with(' ')) head.remove_prefix(1);
  }
}

/// "node7:4711:4715", or "node7:4711" in a DIAG line.
bool read_writer(std::string_view writer, Line& line) {
  const std::size_t last = writer.rfind(':');
  if (last == std::string_view::npos || last == 0) return false;
  const auto number = whole_number<int>(writer.substr(last + 1));
  if (!number || *number <= 0) return false;
  const std::size_t first = writer.substr(0, last).rfind(':');
  if (first == std::string_view::npos) {
    if (line.level != Level::diag) return false;
    line.host = writer.substr(0, last);
    line.pid = *number;
    return true;
  }
  const auto pid = whole_number<int>(writer.substr(first + 1, last - first - 1));
  if (!pid || *pid <= 0 || first == 0) return false;
  line.host = writer.substr(0, first);
  line.pid = *pid;
  line.thread = *number;
  return true;
}

std::optional<Level> take_level(std::string_view& text) {
  struct Word {
    std::string_view word;
    Level level;
  };
  constexpr Word kWords[] = {{"INFO ", Level::info},
                             {"WARN ", Level::warn},
                             {"ATTN ", Level::attn},
                             {"DIAG ", Level::diag}};
  for (const Word& one : kWords)
    if (take(text, one.word)) return one.level;
  return std::nullopt;
}

}  // namespace

const char* name(Level level) {
  switch (level) {
    case Level::info: return "INFO";
    case Level::warn: return "WARN";
    case Level::attn: return "ATTN";
    case Level::diag: return "DIAG";
  }
  return "";
}

std::optional<Line> split_nccl_line(std::string_view line) {
  constexpr std::string_view kMark = " NCCL ";
  line = line.substr(0, kLongestNcclLine);
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  Line result;
  result.text = line.substr(mark + kMark.size());
  const auto level = take_level(result.text);
  if (!level) return std::nullopt;
  result.level = *level;
  if (result.text.ends_with('\r')) result.text.remove_suffix(1);
  std::string_view head = line.substr(0, mark);
  drop_tags(head);
  if (!read_writer(take_word(head), result)) return std::nullopt;
  if (head.starts_with('[')) head.remove_prefix(std::min(head.find(']') + 1, head.size()));
  while (head.starts_with(' ')) head.remove_prefix(1);
  result.place = take_word(head);
  return result;
}

}  // namespace safelaunch::nccl
