#include "safelaunch/profile/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/base/unique_fd.h"

// A file is replaced by a new one under a temporary name, so a reader sees the old content or the
// new one.
namespace safelaunch::profile {
namespace {

Error cannot(const char* what, const std::string& path) {
  return Error{Errc::os, fmt::format("cannot {} {}: {}", what, path, strerror(errno))};
}

Result<> write_and_sync(int fd, std::string_view text, const std::string& path) {
  if (!write_whole(fd, text) || ::fsync(fd) != 0) return cannot("write", path);
  return {};
}

}  // namespace

std::string state_file(const Environment& environment, std::string_view name) {
  const std::string state = user_folder(environment, "XDG_STATE_HOME", ".local/state");
  return state.empty() ? state : fmt::format("{}/safelaunch/{}", state, name);
}

Result<> replace_private_file(const std::string& path, std::string_view text) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (!folder.empty() && !make_folder(folder)) return cannot("make", folder);
  std::string temporary = path + ".XXXXXX";
  UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));  // 0600, and a name that nobody can guess
  if (!file) return cannot("make", temporary);
  Result<> written = write_and_sync(file.get(), text, temporary);
  if (written.has_value() && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = cannot("replace", path);
  if (written.has_error()) ::unlink(temporary.c_str());
  return written;
}

}  // namespace safelaunch::profile
