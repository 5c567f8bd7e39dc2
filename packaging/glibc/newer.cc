// What our executables and GCC 12's libraries ask of a C library that is newer than 2.28, for a
// build that is to run on an older one (SAFELAUNCH_GLIBC, docs/packaging.md). On a newer system
// these stand in place of the C library's own.
#include <pthread.h>
#include <signal.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iterator>

namespace {

constexpr long kSecond = 1'000'000'000;

// An abbreviation at each signal's number.
constexpr const char* kSignals[] = {
    nullptr, "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
    "SEGV",  "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
    "TTOU",  "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
static_assert(std::size(kSignals) == SIGSYS + 1 && SIGCHLD == 17 && SIGSTOP == 19 && SIGPOLL == 29);

timespec later(timespec start, const timespec& from, const timespec& to) {
  start.tv_sec += to.tv_sec - from.tv_sec;
  start.tv_nsec += to.tv_nsec - from.tv_nsec;
  for (; start.tv_nsec < 0; start.tv_nsec += kSecond) --start.tv_sec;
  for (; start.tv_nsec >= kSecond; start.tv_nsec -= kSecond) ++start.tv_sec;
  return start;
}

}  // namespace

extern "C" {

// 2.32. No means "there may be other threads", so counters of references stay atomic.
char __libc_single_threaded = 0;

// 2.34. Kernels before 5.9 refuse the call, and callers know it.
int close_range(unsigned int first, unsigned int last, int flags) noexcept {
  return static_cast<int>(::syscall(SYS_close_range, first, last, flags));
}

// 2.36. The std::random_device of Debian 12's library for 64-bit ARM asks for it.
std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (::getentropy(&value, sizeof value) != 0) std::abort();  // as the C library's own does
  return value;
}

// 2.32.
const char* sigabbrev_np(int signal) noexcept {
  return signal > 0 && signal <= SIGSYS ? kSignals[signal] : nullptr;
}

// 2.30.
ssize_t getdents64(int folder, void* entries, size_t size) noexcept {
  return ::syscall(SYS_getdents64, folder, entries, size);
}

// 2.30. The older call knows the wall clock alone. A wait that ends early or late because somebody
// set that clock is one that its caller looks at again.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  timespec wall{};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  ::clock_gettime(clock, &now);
  const timespec until = later(wall, now, *deadline);
  return ::pthread_cond_timedwait(condition, mutex, &until);
}

}  // extern "C"
