#include "proc_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/own_proc.h"

namespace safelaunch::host {
namespace {

bool belongs_to(int fd, unsigned uid) {
  struct stat file {};
  return ::fstat(fd, &file) == 0 && file.st_uid == uid;
}

}  // namespace

bool proc_can_be_believed() {
  static const bool ours = proc_is_ours();
  return ours;
}

SmallFile::SmallFile(const char* path) {
  UniqueFd fd(::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (fd) size_ = ::read(fd.get(), buffer_.data(), buffer_.size());
}

std::string_view SmallFile::text() const {
  std::string_view text(buffer_.data(), size_ > 0 ? static_cast<std::size_t>(size_) : 0);
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

std::optional<std::string> read_whole(const char* path, std::optional<unsigned> owner) {
  UniqueFd fd(::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd || (owner && !belongs_to(fd.get(), *owner))) return std::nullopt;
  std::string text;
  std::array<char, 16384> piece;
  // Until 0: the kernel hands out /proc/PID/task/TID/children and maps in pieces, whatever we ask.
  for (;;) {
    const auto got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

std::string_view take_word(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const auto word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

std::vector<int> numbers_in_folder(const char* path) {
  std::vector<int> numbers;
  const std::unique_ptr<DIR, decltype([](DIR* folder) { ::closedir(folder); })> folder(
      ::opendir(path));
  if (!folder) return numbers;
  while (const dirent* entry = ::readdir(folder.get()))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
      numbers.push_back(number_in<int>(entry->d_name));
  return numbers;
}

}  // namespace safelaunch::host
