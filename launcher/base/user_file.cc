#include "safelaunch/base/user_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "safelaunch/base/format.h"
#include "safelaunch/base/trusted_path.h"

/// stat(2) judges a path before it is opened, and fstat(2) judges the open file again: somebody may
/// have put another one there between the two. The opening itself waits for nobody.
namespace safelaunch {
namespace {

Error unreadable(const std::string& path, int reason) {
  return Error{Errc::os, fmt::format("{}: cannot be read: {}", path, strerror(reason))};
}

Error not_regular(const std::string& path) {
  return Error{Errc::os, path + ": is not a regular file, so it is not read"};
}

Error cannot(const char* what, const std::string& path) {
  return Error{Errc::os, fmt::format("cannot {} {}: {}", what, path, strerror(errno))};
}

enum class Sync { no, yes };

Result<void> replace(const std::string& path, std::string_view text, Sync sync, unsigned mode) {
  std::string temporary = path + ".XXXXXX";
  const UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));  // 0600, and a name of its own
  if (!file) return cannot("make", temporary);
  Result<void> written;
  if (::fchmod(file.get(), mode) != 0 || !write_whole(file.get(), text) ||
      (sync == Sync::yes && ::fsync(file.get()) != 0))
    written = cannot("write", temporary);
  else if (::rename(temporary.c_str(), path.c_str()) != 0)
    written = cannot("replace", path);
  if (written.has_value()) return written;
  const int reason = errno;
  ::unlink(temporary.c_str());
  errno = reason;
  return written;
}

}  // namespace

Result<UniqueFd> open_user_file(const std::string& path, Links links) {
  struct stat facts {};
  const int flags = links == Links::refused ? AT_SYMLINK_NOFOLLOW : 0;
  if (::fstatat(AT_FDCWD, path.c_str(), &facts, flags) != 0) return unreadable(path, errno);
  if (!S_ISREG(facts.st_mode)) return not_regular(path);
  const int no_link = links == Links::refused ? O_NOFOLLOW : 0;
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | no_link));
  if (!file || ::fstat(file.get(), &facts) != 0) return unreadable(path, errno);
  if (!S_ISREG(facts.st_mode))
    return not_regular(path);  // somebody has put another file there since
  return file;
}

Result<std::string> read_user_file(const std::string& path, std::size_t most, Links links) {
  const Result<UniqueFd> file = open_user_file(path, links);
  if (!file) return file.error();
  std::string text;
  char block[16384];
  while (text.size() < most) {
    const ssize_t got = ::read(file->get(), block, std::min(sizeof block, most - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, errno);
    if (got == 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  return text;
}

Result<UniqueFd> open_to_append(const std::string& path) {
  constexpr int kHow =
      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  UniqueFd file(::open(path.c_str(), kHow, 0600));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return Error{Errc::os, strerror(errno)};
  if (S_ISFIFO(facts.st_mode)) return Error{Errc::os, "it is a FIFO"};
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
    return Error{Errc::os, fmt::format("it belongs to uid {}", facts.st_uid)};
  return file;
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  return replace(path, text, Sync::no, 0600);
}

Result<void> replace_public_file(const std::string& path, std::string_view text) {
  return replace(path, text, Sync::no, 0644);
}

Result<void> replace_lasting_file(const std::string& path, std::string_view text) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (!folder.empty() && !make_folder(folder)) return cannot("make", folder);
  return replace(path, text, Sync::yes, 0600);
}

std::optional<std::string> user_file_text(const std::string& path, std::size_t most) {
  Result<std::string> text = read_user_file(path, most);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

}  // namespace safelaunch
