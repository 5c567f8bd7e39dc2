#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace safelaunch::nccl {

/// How loud a line of NCCL's log is.
enum class Level {
  info,  ///< often says "failed" or "no device" in healthy jobs
  warn,  ///< a failure, or what may become one
  attn,  ///< NCCL 2.32: what the user asked for cannot be had
  diag,  ///< NCCL 2.31: a result of its own diagnostics
};

/// "WARN"
[[nodiscard]] const char* name(Level level);

/// A line of NCCL's log, cut into its parts; they refer to the line:
///     [2026-11-20 18:15:23] node7:4711:4715 [0] init.cc:904 (f) NCCL WARN Duplicate GPU detected
struct Line {
  std::string_view host;
  int pid = 0;
  int thread = 0;  ///< 0 where the line does not tell (DIAG)
  Level level = Level::info;
  std::string_view place;  ///< "init.cc:904", of a WARN or an ATTN
  std::string_view text;
};

/// NCCL itself cuts its lines at 1024 characters; what is longer is not NCCL's, and is cut here.
inline constexpr std::size_t kLongestNcclLine = 4 << 10;

/// Cuts a line without its end; nullopt where it is not NCCL's. Tags and times in square brackets
/// may stand in front. Whatever a line holds, the time is linear in its length.
[[nodiscard]] std::optional<Line> split_nccl_line(std::string_view line);

}  // namespace safelaunch::nccl
