#include "safelaunch/output/recording.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

// The first failure ends a recording for good, so a log may end early but has no hole; from then on
// lost bytes are only counted. With a disk thread the caller never waits: a queue that is full is
// such a failure.
namespace safelaunch::output {

/// The state that one thread writes and another one asks for.
struct Recording::File {
  explicit File(std::filesystem::path where) : path(std::move(where)) {}

  // Opens with O_APPEND, so that a file which logrotate truncates goes on at its beginning.
  void open() {
    Result<UniqueFd> opened = open_to_append(path);
    opened ? void(fd = std::move(*opened)) : stop(opened.error().message);
  }

  void append(std::string_view bytes) {
    if (!fd && !failed && !bytes.empty()) open();
    while (fd && !bytes.empty()) {
      const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
      if (written >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        stop(std::strerror(errno));
      }
    }
    lost += bytes.size();
  }

  void stop(std::string why) {
    fd.reset();
    fail(std::move(why));
  }

  void fail(std::string why) {
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) reason = std::move(why);
  }

  const std::filesystem::path path;
  UniqueFd fd;
  std::mutex mutex;
  std::string reason;
  std::atomic<bool> failed = false;
  std::atomic<bool> told = false;
  std::atomic<std::uint64_t> lost = 0;
};

Recording::Recording(std::filesystem::path path, DiskQueue* disk)
    : file_(std::make_shared<File>(std::move(path))), disk_(disk) {}

void Recording::append(std::string_view bytes) {
  if (disk_ == nullptr) return file_->append(bytes);
  // After a lost piece nothing more is recorded, so a log may end early but has no hole.
  const bool taken =
      !file_->failed &&
      disk_->post(bytes.size(), [file = file_, text = std::string(bytes)] { file->append(text); });
  if (taken) return;
  file_->fail("its file system does not answer");
  file_->lost += bytes.size();
}

bool Recording::failed() const {
  return file_->failed;
}

std::optional<RecordingLoss> Recording::untold_loss() {
  if (!file_->failed || file_->told.exchange(true)) return std::nullopt;
  const std::lock_guard lock(file_->mutex);
  return RecordingLoss{file_->path, file_->reason, file_->lost};
}

void Tail::append(std::string_view bytes) {
  if (bytes.size() > capacity_) bytes.remove_prefix(bytes.size() - capacity_);
  const std::size_t growth = std::min(bytes.size(), capacity_ - ring_.size());
  ring_.append(bytes.substr(0, growth));
  bytes.remove_prefix(growth);
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), capacity_ - oldest_);
    bytes.copy(ring_.data() + oldest_, piece);
    oldest_ = (oldest_ + piece) % capacity_;
    bytes.remove_prefix(piece);
  }
}

std::string Tail::text() const {
  return ring_.substr(oldest_) + ring_.substr(0, oldest_);
}

}  // namespace safelaunch::output
