#pragma once

#include <cstddef>
#include <functional>

#include "safelaunch/base/event.h"

namespace safelaunch::diagnose {

/// The writer of a log line, as far as its form shows.
enum class LineKind {
  plain,
  nccl_info,  ///< an INFO line; these say "failed" or "no device" in healthy jobs too
  nccl_warn,  ///< a WARN or ATTN line, or torch's copy of one under "Last error:"
  warning,  ///< a warning of Python, glog or torch: "UserWarning: …", "[W1121 … socket.cpp:469] …"
  python_error,  ///< "SomeError: text", the last line of a traceback
};

/// One line without a progress bar before it, its tags ("[rank3]: ", torchrun's "[default3]:",
/// vLLM's and Ray's "(Worker pid=4711) "), vLLM's head ("ERROR 11-29 09:12:40 [core.py:953] ") and
/// line end.
struct LogLine {
  std::string_view text;  ///< the text, at most kLongestLine bytes
  std::optional<Rank> rank;
  LineKind kind = LineKind::plain;
  std::size_t number = 0;    ///< its line number in the text, from 0 on
  std::string_view place{};  ///< who wrote it, in vLLM's head: "core.py:953"; empty: it has none
};

/// Longer lines are cut, so that a hostile one costs no more. No message that names a cause is
/// longer.
inline constexpr std::size_t kLongestLine = 8 << 10;

/// Only the end of a longer text is read; the most hostile one then costs half a second.
inline constexpr std::size_t kLongestText = 4 << 20;

/// Calls `visit` for each non-empty line at the end of the text. Allocates nothing.
void for_each_line(std::string_view text, const std::function<void(const LogLine&)>& visit);

/// Takes "(Worker_TP1 pid=4711) " or "(train pid=4711, ip=10.0.0.2) " off the front, and gives the
/// pid.
[[nodiscard]] std::optional<int> take_process(std::string_view& line);

/// Whether the line shows a progress bar of tqdm's: " 10%|█   | 2/20 [00:00<00:07,  2.45it/s]".
[[nodiscard]] bool has_bar(std::string_view line);

/// Whether the line begins with a head of glog, as torch writes them: "W1121 11:51:11.014000 7795
/// torch/…".
[[nodiscard]] bool has_glog_head(std::string_view line);

/// Whether the line begins with a date and a time, as logging, absl and XLA write them: "2026-11-29
/// 09:04:06.116501: F external/…".
[[nodiscard]] bool has_date(std::string_view line);

/// Splits "package.SomeError: text" into type and message. The type is empty where the line does
/// not end a traceback: its last word must end in Error, Exception, Interrupt, Exit or Warning.
struct ErrorLine {
  std::string_view type;
  std::string_view message;
};
[[nodiscard]] ErrorLine split_error(std::string_view line);

/// The whole number that stands right behind the first `words` of a text.
[[nodiscard]] std::optional<int> number_after(std::string_view text, std::string_view words);

}  // namespace safelaunch::diagnose
