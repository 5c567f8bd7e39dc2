#include "board_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "records.h"
#include "safelaunch/agree/board.h"
#include "safelaunch/base/format.h"

// Each step is one system call that the server of the folder makes whole, or one whose failure
// leaves nothing behind: a record is written under another name, synced, and renamed. An error
// that means 'not there' is an answer; every other one says nothing about the board, and is
// handed up.
namespace safelaunch::agree {
namespace {

constexpr std::size_t kMostOfRecord = kLongestText + 4096;
constexpr std::string_view kUnfinished = ".new-";

/// A new file with this content. Where it cannot be written, none is left.
bool write_new(int root, const std::string& name, std::string_view text) {
  const UniqueFd file(
      ::openat(root, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return false;
  if (write_whole(file.get(), text) && ::fsync(file.get()) == 0) return true;
  const int reason = errno;
  ::unlinkat(root, name.c_str(), 0);
  errno = reason;
  return false;
}

}  // namespace

Result<BoardFolder> BoardFolder::open(const std::string& path, bool& nothing) {
  UniqueFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  nothing = !root && errno == ENOENT;
  if (!root) return Error{Errc::peer_lost, fmt::format("{}: {}", path, strerror(errno))};
  return BoardFolder(path, std::move(root));
}

Error BoardFolder::error(const std::string& name) const {
  return Error{Errc::peer_lost, fmt::format("{}/{}: {}", path_, name, strerror(errno))};
}

Result<bool> BoardFolder::is_there() const {
  const UniqueFd now(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!now && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) return error(".");
  struct stat ours {};
  struct stat there {};
  if (::fstat(root_.get(), &ours) != 0) return errno == ESTALE ? Result<bool>(false) : error(".");
  if (!now) return false;
  if (::fstat(now.get(), &there) != 0) return error(".");
  return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

Result<std::vector<std::string>> BoardFolder::names(const std::string& within) const {
  const int fd =
      ::openat(root_.get(), within.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return error(within);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(fd), &::closedir);
  if (!folder) {
    ::close(fd);
    return error(within);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return error(within);
  return names;
}

Result<bool> BoardFolder::has(const std::string& name) const {
  const std::size_t slash = name.rfind('/');
  const std::string within = slash == std::string::npos ? "." : name.substr(0, slash);
  const UniqueFd folder(::openat(root_.get(), within.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return error(within);
  struct stat facts {};
  if (::fstatat(root_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0) return true;
  return errno == ENOENT ? Result<bool>(false) : error(name);
}

Result<std::string> BoardFolder::read(const std::string& name) const {
  const UniqueFd file(
      ::openat(root_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return error(name);
  std::string text(kMostOfRecord, '\0');
  std::size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error(name);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

Result<bool> BoardFolder::move(const std::string& from, const std::string& to) const {
  if (::renameat(root_.get(), from.c_str(), root_.get(), to.c_str()) == 0) return true;
  return errno == ENOENT ? Result<bool>(false) : error(from);
}

Result<void> BoardFolder::write(const std::string& name, std::string_view text) const {
  const std::string unfinished = std::string(kUnfinished) + random_id();
  if (!write_new(root_.get(), unfinished, text)) return error(unfinished);
  if (::renameat(root_.get(), unfinished.c_str(), root_.get(), name.c_str()) == 0) return {};
  const Error why = error(name);
  ::unlinkat(root_.get(), unfinished.c_str(), 0);
  return why;
}

Result<bool> BoardFolder::add(const std::string& name, std::string_view text) const {
  if (write_new(root_.get(), name, text)) return true;
  return errno == EEXIST ? Result<bool>(false) : error(name);
}

void BoardFolder::remove(const std::string& name) const {
  ::unlinkat(root_.get(), name.c_str(), 0);
}

void BoardFolder::remove_folder(const std::string& name) const {
  ::unlinkat(root_.get(), name.c_str(), AT_REMOVEDIR);
}

Result<void> BoardFolder::make_folder(const std::string& name) const {
  if (::mkdirat(root_.get(), name.c_str(), 0700) == 0) return {};
  return error(name);
}

}  // namespace safelaunch::agree
