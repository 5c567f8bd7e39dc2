#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "safelaunch/base/format.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/launch/process_tree.h"

/// What of /proc the guardian needs, read without the heap: it must work, and stay tiny, in a
/// process that was forked before anything else happened.
namespace safelaunch::launch::proc {

/// A path below /proc, made in place.
class Path {
 public:
  template <class... Args>
  explicit Path(fmt::format_string<Args...> format, Args&&... args) {
    const auto end = fmt::format_to_n(text_, sizeof(text_) - 1, format, args...).out;
    *end = '\0';
  }
  [[nodiscard]] const char* c_str() const { return text_; }

 private:
  char text_[64];
};

/// Calls take(number) for each entry of a directory whose name is a number (pids, threads, fds).
template <class Take>
void for_each_number(const char* directory, Take take) {
  const UniqueFd fd(::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  alignas(dirent64) char buffer[4096];
  for (ssize_t size = 0; (size = ::getdents64(fd.get(), buffer, sizeof(buffer))) > 0;) {
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      const std::string_view name(entry->d_name);
      int number = 0;
      const auto parsed = std::from_chars(name.begin(), name.end(), number);
      if (parsed.ec == std::errc() && parsed.ptr == name.end()) take(number);
    }
  }
}

/// What /proc/PID/stat says, as far as one who ends processes needs it.
struct Stat {
  char state = '?';  ///< of its main thread, as in ps; Z: ended
  int parent = 0;
  int terminal_group = 0;  ///< the foreground process group of its terminal; -1: no terminal
  int group = 0;
  bool runs_its_starters_program = false;  ///< it was forked and has executed nothing since
  std::uint64_t start_ticks = 0;
  int wait_status = 0;  ///< of a zombie, where we may see it; else 0
};

/// nullopt where the process is gone.
[[nodiscard]] std::optional<Stat> stat_of(int pid);

/// Whether a process was forked so lately that it may be about to execute its own program.
/// `now_ticks` is the present time in the unit of Stat::start_ticks.
[[nodiscard]] bool is_about_to_execute(const Stat& stat, std::uint64_t now_ticks, Duration youth);

/// Whether the process was started with a setting ("NAME=VALUE") in its environment. A process that
/// is about to execute its program is looked at again, as long as the moment lasts. False where the
/// environment cannot be read, or not without a risk to wait for it.
[[nodiscard]] bool was_started_with(int pid, std::string_view setting, ExecMoment& moment);

/// The state of a process as in ps; where its main thread alone has ended, that of another one. '?'
/// where it is gone.
[[nodiscard]] char state_of(int pid);

/// What stat_of says, of a line that was read.
[[nodiscard]] std::optional<Stat> parse_stat_line(std::string_view line);

}  // namespace safelaunch::launch::proc
