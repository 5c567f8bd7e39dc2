#include "safelaunch/host/activity.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "safelaunch/host/proc.h"

/// A table says of each system call that may sleep where its timeout stands. A call that is not in
/// the table waits for something from outside. Where the call cannot be read, the name of the
/// kernel function decides as far as it can.
namespace safelaunch::host {
namespace {

enum class Timeout {
  always,         ///< the call is a sleep
  pointer,        ///< a timespec, or null for ever
  milliseconds,   ///< an int, negative for ever
  futex_pointer,  ///< a pointer, if the operation is a wait
  file_lock,      ///< no timeout: it waits for a lock
  fcntl_lock,     ///< the same, if the command locks
  child,          ///< no timeout: it waits for the end of a child
};

/// A system call that may sleep, and the place of its timeout.
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
    {SYS_wait4, 0, Timeout::child},
    {SYS_waitid, 0, Timeout::child},
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
  return timed ? WaitKind::timed : WaitKind::outer;
}

/// A futex that is not shared can be woken by the threads of its process alone.
WaitKind kind_of_futex(std::uint64_t operation, std::uint64_t timeout) {
  if (timeout != 0 && waits_on_futex(operation)) return WaitKind::timed;
  return (operation & FUTEX_PRIVATE_FLAG) != 0 ? WaitKind::inner : WaitKind::outer;
}

WaitKind kind_of_call(const SleepingCall& call, const Arguments& arguments) {
  const auto value = arguments[call.argument];
  switch (call.timeout) {
    case Timeout::always: return WaitKind::timed;
    case Timeout::pointer: return timed_if(value != 0);
    case Timeout::milliseconds: return timed_if(static_cast<std::int32_t>(value) >= 0);
    case Timeout::futex_pointer: return kind_of_futex(arguments[1], value);
    case Timeout::file_lock: return WaitKind::lock;
    case Timeout::fcntl_lock: return locks_file(value) ? WaitKind::lock : WaitKind::outer;
    case Timeout::child: return WaitKind::inner;
  }
  return WaitKind::unknown;
}

/// Judges by the names of Linux 5.10 to 6.18; suffixes (".constprop.0") come and go.
WaitKind kind_by_function(std::string_view wchan) {
  if (wchan.empty() || wchan == "0") return WaitKind::unknown;
  if (wchan.find("nanosleep") != std::string_view::npos) return WaitKind::timed;
  if (wchan.find("lock_inode_wait") != std::string_view::npos) return WaitKind::lock;
  if (wchan == "do_wait") return WaitKind::inner;
  // These names do not tell whether the call has a timeout.
  for (const std::string_view either : {"poll", "select", "futex", "sigtimedwait"})
    if (wchan.find(either) != std::string_view::npos) return WaitKind::unknown;
  return WaitKind::outer;
}

/// The number and the arguments of a system call; nullopt where they are not told.
struct Call {
  long number = 0;
  Arguments arguments{};
};

std::optional<Call> read_call(std::string_view syscall) {
  if (syscall.empty() || syscall == "running" || syscall.starts_with('-')) return std::nullopt;
  Call call{.number = number_in<long>(take_word(syscall))};
  for (auto& argument : call.arguments) argument = hex(take_word(syscall));
  return call;
}

/// The place in a call of the descriptor that it reads.
enum class Input { first_argument, highest, epoll };

struct ReadingCall {
  long number;
  Input input;
};

constexpr ReadingCall kReadingCalls[] = {
    {SYS_read, Input::first_argument},     {SYS_readv, Input::first_argument},
    {SYS_recvfrom, Input::first_argument}, {SYS_recvmsg, Input::first_argument},
    {SYS_pselect6, Input::highest},        {SYS_epoll_pwait, Input::epoll},
    {SYS_epoll_pwait2, Input::epoll},
#ifdef SYS_poll
    {SYS_select, Input::highest},          {SYS_epoll_wait, Input::epoll},
#endif
};

}  // namespace

WaitKind kind_of_wait(std::string_view syscall, std::string_view wchan) {
  const auto call = read_call(syscall);
  if (!call) return kind_by_function(wchan);
  const auto known = std::ranges::find(kSleepingCalls, call->number, &SleepingCall::number);
  return known == std::end(kSleepingCalls) ? WaitKind::outer
                                           : kind_of_call(*known, call->arguments);
}

std::optional<AwaitedInput> awaited_input(std::string_view syscall) {
  const auto call = read_call(syscall);
  if (!call) return std::nullopt;
  const auto known = std::ranges::find(kReadingCalls, call->number, &ReadingCall::number);
  if (known == std::end(kReadingCalls)) return std::nullopt;
  const int first = static_cast<int>(call->arguments[0]);
  if (known->input != Input::highest) return AwaitedInput{first, known->input == Input::epoll};
  if (first <= 0) return std::nullopt;
  return AwaitedInput{first - 1};
}

}  // namespace safelaunch::host
