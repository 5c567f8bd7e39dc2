#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/format.h"

/// How this room reads /proc: whole small files, with one open, one read and one close, since ten
/// thousand processes are read in one go.
namespace safelaunch::host {

/// What proc_is_ours() says, asked once.
[[nodiscard]] bool proc_can_be_believed();

/// A path below /proc, built without an allocation.
class ProcPath {
 public:
  ProcPath(int pid, std::string_view file) { format("/proc/{}/{}", pid, file); }
  ProcPath(int pid, int tid, std::string_view file) {
    format("/proc/{}/task/{}/{}", pid, tid, file);
  }
  [[nodiscard]] const char* c_str() const { return text_.data(); }

 private:
  template <class... Args>
  void format(fmt::format_string<Args...> pattern, Args&&... args) {
    *fmt::format_to_n(text_.data(), text_.size() - 1, pattern, std::forward<Args>(args)...).out = 0;
  }
  std::array<char, 64> text_;
};

/// A file that fits into a page: stat, wchan, syscall, schedstat, io. A longer one is cut.
class SmallFile {
 public:
  explicit SmallFile(const char* path);
  explicit SmallFile(const ProcPath& path) : SmallFile(path.c_str()) {}
  [[nodiscard]] explicit operator bool() const { return size_ >= 0; }
  [[nodiscard]] std::string_view text() const;  ///< without the last newline; empty if unreadable

 private:
  std::array<char, 4096> buffer_;
  long size_ = -1;
};

/// A file of any length; nullopt where it cannot be read to its end, or where an owner is given and
/// it belongs to somebody else. Asking the open file saves a second walk along the path.
[[nodiscard]] std::optional<std::string> read_whole(const char* path,
                                                    std::optional<unsigned> owner = std::nullopt);

/// Takes the next word off `text`, up to `separator`.
[[nodiscard]] std::string_view take_word(std::string_view& text, char separator = ' ');

/// The number at the start of `text`, 0 where there is none.
template <class Number = std::uint64_t>
[[nodiscard]] Number number_in(std::string_view text, int base = 10) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

/// The names in a folder that are numbers: the pids in /proc, the tids in a task folder.
[[nodiscard]] std::vector<int> numbers_in_folder(const char* path);

}  // namespace safelaunch::host
