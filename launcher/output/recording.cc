#include "safelaunch/output/recording.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "safelaunch/base/user_file.h"

namespace safelaunch {

Recording::Recording(std::filesystem::path path) {
  loss_.path = std::move(path);
}

// O_APPEND, so that a file which logrotate truncates goes on at its beginning.
void Recording::open() {
  Result<UniqueFd> opened = open_to_append(loss_.path);
  if (opened)
    file_ = std::move(*opened);
  else
    stop(opened.error().message);
}

void Recording::append(std::string_view bytes) {
  if (!file_ && !failed() && !bytes.empty()) open();
  while (file_ && !bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      stop(std::strerror(errno));
    }
  }
  loss_.bytes += bytes.size();
}

void Recording::stop(std::string reason) {
  loss_.reason = std::move(reason);
  file_.reset();
}

}  // namespace safelaunch
