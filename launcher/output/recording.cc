#include "safelaunch/output/recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace safelaunch {

Recording::Recording(std::filesystem::path path) {
  loss_.path = std::move(path);
}

// O_APPEND, so that a file which logrotate truncates goes on at its beginning.
void Recording::open() {
  file_.reset(
      ::open(loss_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file_) stop(errno);
}

void Recording::append(std::string_view bytes) {
  if (!file_ && !failed() && !bytes.empty()) open();
  while (file_ && !bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      stop(errno);
    }
  }
  loss_.bytes += bytes.size();
}

void Recording::stop(int error) {
  loss_.reason = std::strerror(error);
  file_.reset();
}

}  // namespace safelaunch
