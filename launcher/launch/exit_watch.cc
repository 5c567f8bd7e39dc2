#include "safelaunch/launch/exit_watch.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/launch/pidfd.h"

// A pidfd tells when a process has ended, not how. The status is read from /proc while its parent
// has not reaped it, and from the pidfd afterwards, which newer kernels allow. Where no descriptor
// is free the process is looked for again and again: to call it gone would be a lie.
namespace safelaunch::launch {
namespace {

/// struct pidfd_info, its request and its flag, as in include/uapi/linux/pidfd.h of Linux 6.15. The
/// headers of the systems on which we are built are older.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup_id;
  std::uint32_t ids[11];  // pid, tgid, ppid, then uids and gids
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);  // PIDFD_INFO_SIZE_VER0
constexpr unsigned long kPidfdGetInfo = _IOWR(0xff, 11, PidfdInfo);
constexpr std::uint64_t kPidfdInfoExit = 1U << 3;

/// Too many open files is a state that passes.
constexpr Duration kRetryPause{200};

enum class Opened {
  yes,
  gone,     ///< the process has ended, or a stranger has its pid
  unknown,  ///< we have no descriptor to find out with
};

/// The status of a process that was reaped.
std::optional<ExitStatus> status_by_pidfd(int pidfd) {
  PidfdInfo info{};
  info.mask = kPidfdInfoExit;
  if (::ioctl(pidfd, kPidfdGetInfo, &info) != 0) return std::nullopt;
  if ((info.mask & kPidfdInfoExit) == 0) return std::nullopt;
  return exit_status_from_wait(info.exit_code);
}

/// The kernel shows 0 for the status of a zombie that we may not look into.
bool may_look_into(int pid) {
  struct stat info {};
  if (::stat(host::ProcPath(pid, "").c_str(), &info) != 0) return false;
  return ::geteuid() == 0 || ::geteuid() == info.st_uid;
}

/// The status of a process that waits to be reaped.
std::optional<ExitStatus> status_by_zombie(ProcessId process) {
  const bool allowed = may_look_into(process.pid);
  const auto stat = host::stat_of(process.pid);
  if (!allowed || !stat || stat->state != 'Z' || stat->start_ticks != process.start_ticks)
    return std::nullopt;
  return exit_status_from_wait(stat->wait_status);
}

}  // namespace

struct ExitWatch::Watch : std::enable_shared_from_this<Watch> {
  Watch(boost::asio::io_context& io, ProcessId watched, OnExit callback)
      : pidfd(io), retry(io), process(watched), on_exit(std::move(callback)) {}

  boost::asio::posix::stream_descriptor pidfd;
  Alarm retry;
  ProcessId process;
  OnExit on_exit;

  void begin() {
    switch (open()) {
      case Opened::yes: return await();
      case Opened::gone: return tell_soon();
      case Opened::unknown: return begin_later();
    }
  }

  Opened open() {
    UniqueFd fd(pidfd::open(process.pid));
    if (!fd) return pidfd::means_nobody(errno) ? Opened::gone : Opened::unknown;
    const auto stat = host::stat_of(process.pid);
    if (!stat) return pidfd::has_ended(fd.get()) ? Opened::gone : Opened::unknown;
    if (stat->start_ticks != process.start_ticks) return Opened::gone;
    pidfd.assign(fd.release());
    return Opened::yes;
  }

  void begin_later() {
    retry.set_after(kRetryPause, [this] { begin(); });
  }

  void await() {
    pidfd.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [weak = weak_from_this()](const boost::system::error_code& error) {
                       const auto watch = weak.lock();
                       if (!watch || error) return;
                       pidfd::has_ended(watch->pidfd.native_handle()) ? watch->tell()
                                                                      : watch->await();
                     });
  }

  void tell_soon() {
    boost::asio::post(pidfd.get_executor(), [weak = weak_from_this()] {
      if (const auto watch = weak.lock()) std::exchange(watch->on_exit, nullptr)(std::nullopt);
    });
  }

  void tell() {
    // The order matters: a process that is no zombie any more was reaped before, so the second can
    // answer.
    auto status = status_by_zombie(process);
    if (!status) status = status_by_pidfd(pidfd.native_handle());
    std::exchange(on_exit, nullptr)(status);
  }
};

ExitWatch::ExitWatch(boost::asio::io_context& io, ProcessId process, OnExit on_exit)
    : watch_(std::make_shared<Watch>(io, process, std::move(on_exit))) {
  watch_->begin();
}

ExitWatch::ExitWatch(ExitWatch&&) noexcept = default;
ExitWatch& ExitWatch::operator=(ExitWatch&&) noexcept = default;
ExitWatch::~ExitWatch() = default;

}  // namespace safelaunch::launch
