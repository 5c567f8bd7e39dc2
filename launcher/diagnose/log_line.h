#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "safelaunch/base/event.h"

namespace safelaunch::diagnose {

/// What wrote a line of a log, as far as it shows.
enum class LineKind {
  plain,
  nccl_info,     ///< often says "failed" or "no device" in healthy jobs
  nccl_warn,     ///< WARN, ATTN, and the reason that torch repeats under "Last error:"
  warning,       ///< of Python, glog or torch: "UserWarning: …", "[W1121 … socket.cpp:469] …"
  python_error,  ///< "SomeError: text", the last line of a traceback
};

/// One line without its rank tags ("[rank3]: ", torchrun's "[default3]:") and line end.
struct LogLine {
  std::string_view text;  ///< at most kLongestLine bytes
  std::optional<Rank> rank;
  LineKind kind = LineKind::plain;
  std::size_t number = 0;  ///< within the text read, from 0 on
};

/// Longer lines are cut: no message that names a cause is longer, and a hostile one costs no more.
inline constexpr std::size_t kLongestLine = 8 << 10;

/// Only the end of a longer text is read: half a second of work on the most hostile one.
inline constexpr std::size_t kLongestText = 4 << 20;

/// Calls `visit` for each line that is not empty of the text's tail; without allocating.
void for_each_line(std::string_view text, const std::function<void(const LogLine&)>& visit);

/// glog's heads, as torch writes them: "W1121 11:51:11.014000 7795 torch/…".
[[nodiscard]] bool has_glog_head(std::string_view line);

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
