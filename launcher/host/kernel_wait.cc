#include "safelaunch/host/kernel_wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "proc_file.h"

namespace safelaunch {
namespace {

enum class Timeout {
  always,         ///< the call is a sleep
  pointer,        ///< a timespec, or null for ever
  milliseconds,   ///< an int, negative for ever
  futex_pointer,  ///< a pointer, if the operation is one of waiting
  file_lock,      ///< no timeout: it waits for a lock
  fcntl_lock,     ///< the same, if the command is one of locking
};

/// Where a system call that may sleep keeps its timeout.
struct SleepingCall {
  long number;
  std::size_t argument;
  Timeout timeout;
};

constexpr SleepingCall kSleepingCalls[] = {
    {SYS_nanosleep, 0, Timeout::always},
    {SYS_clock_nanosleep, 0, Timeout::always},
    // A sleep or wait with a timeout goes on by this call after a SIGSTOP and SIGCONT.
    {SYS_restart_syscall, 0, Timeout::always},
    {SYS_futex, 3, Timeout::futex_pointer},
    {SYS_ppoll, 2, Timeout::pointer},
    {SYS_pselect6, 4, Timeout::pointer},
    {SYS_epoll_pwait, 3, Timeout::milliseconds},
    {SYS_epoll_pwait2, 3, Timeout::pointer},
    {SYS_rt_sigtimedwait, 2, Timeout::pointer},
    {SYS_semtimedop, 3, Timeout::pointer},
    {SYS_flock, 0, Timeout::file_lock},
    {SYS_fcntl, 1, Timeout::fcntl_lock},
#ifdef SYS_poll  // newer architectures have the p-calls only
    {SYS_poll, 2, Timeout::milliseconds},
    {SYS_select, 4, Timeout::pointer},
    {SYS_epoll_wait, 3, Timeout::milliseconds},
#endif
};

using Arguments = std::array<std::uint64_t, 6>;

/// "0x1f": the kernel writes all but the number in hex.
std::uint64_t hex(std::string_view word) {
  word.remove_prefix(std::min<std::size_t>(word.size(), 2));
  return number_in(word, 16);
}

bool waits_on_futex(std::uint64_t operation) {
  const auto command = operation & static_cast<unsigned>(FUTEX_CMD_MASK);
  return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI ||
         command == FUTEX_WAIT_REQUEUE_PI;
}

bool locks_file(std::uint64_t command) {
  constexpr std::uint64_t kSetLockWait = 7, kSetOpenFileLockWait = 38;  // F_SETLKW, F_OFD_SETLKW
  return command == kSetLockWait || command == kSetOpenFileLockWait;
}

WaitKind timed_if(bool timed) {
  return timed ? WaitKind::timed : WaitKind::open;
}

WaitKind kind_of_call(const SleepingCall& call, const Arguments& arguments) {
  const auto value = arguments[call.argument];
  switch (call.timeout) {
    case Timeout::always: return WaitKind::timed;
    case Timeout::pointer: return timed_if(value != 0);
    case Timeout::milliseconds: return timed_if(static_cast<std::int32_t>(value) >= 0);
    case Timeout::futex_pointer: return timed_if(value != 0 && waits_on_futex(arguments[1]));
    case Timeout::file_lock: return WaitKind::lock;
    case Timeout::fcntl_lock: return locks_file(value) ? WaitKind::lock : WaitKind::open;
  }
  return WaitKind::unknown;
}

/// The names are those of Linux 5.10 to 6.18; suffixes (".constprop.0") come and go.
WaitKind kind_by_function(std::string_view wchan) {
  if (wchan.empty() || wchan == "0") return WaitKind::unknown;
  if (wchan.find("nanosleep") != std::string_view::npos) return WaitKind::timed;
  if (wchan.find("lock_inode_wait") != std::string_view::npos) return WaitKind::lock;
  // A poll or futex may have a timeout or not, and this does not tell.
  for (const std::string_view either : {"poll", "select", "futex", "sigtimedwait"})
    if (wchan.find(either) != std::string_view::npos) return WaitKind::unknown;
  return WaitKind::open;
}

}  // namespace

WaitKind kind_of_wait(std::string_view syscall, std::string_view wchan) {
  if (syscall.empty() || syscall == "running" || syscall.starts_with('-'))
    return kind_by_function(wchan);
  const auto number = number_in<long>(take_word(syscall));
  Arguments arguments{};
  for (auto& argument : arguments) argument = hex(take_word(syscall));
  const auto call = std::ranges::find(kSleepingCalls, number, &SleepingCall::number);
  return call == std::end(kSleepingCalls) ? WaitKind::open : kind_of_call(*call, arguments);
}

}  // namespace safelaunch
