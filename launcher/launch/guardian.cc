#include "safelaunch/launch/guardian.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

#include "pidfd.h"
#include "proc_files.h"
#include "safelaunch/launch/inherited.h"
#include "safelaunch/launch/process_tree.h"
#include "signal_courier.h"

namespace safelaunch {
namespace {

namespace asio = boost::asio;

int guardian = 0;

sigset_t all_signals() {
  sigset_t all;
  sigfillset(&all);
  return all;
}

sigset_t own_faults() {
  sigset_t faults;
  sigemptyset(&faults);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    sigaddset(&faults, signal);
  return faults;
}

void report_survivors() {
  Descendant alive[16];
  const std::size_t count = living_descendants(alive);
  for (const Descendant& process : std::span(alive, count)) {
    char line[128];
    const auto end = fmt::format_to_n(line, sizeof(line),
                                      "safelaunch: process {} was killed but has not ended (state "
                                      "{}); it ends as soon as the kernel lets it\n",
                                      process.pid, proc::state_of(process.pid));
    if (::write(STDERR_FILENO, line, std::min(sizeof(line), end.size)) < 0) return;
  }
}

void leave_nothing_running() {
  if (kill_descendants(kKillPatience) > 0) report_survivors();
}

/// Does to ourselves what `signal` does by default.
void suffer(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
}

/// The guardian's whole life.
class Guardian {
 public:
  explicit Guardian(int supervisor) : supervisor_(supervisor) {}

  [[noreturn]] void run() {
    const sigset_t all = all_signals();
    for (;;) {
      siginfo_t info{};
      const int signal = ::sigwaitinfo(&all, &info);
      if (signal == SIGCHLD)
        look_after_children();
      else if (signal > 0)
        hand_on(signal, info);
    }
  }

 private:
  void hand_on(int signal, const siginfo_t& info) {
    if (signal == SIGCONT) {
      // Plainly: the supervisor may be stopped, and no other signal ends that.
      if (info.si_pid != supervisor_) ::kill(supervisor_, SIGCONT);
      return;
    }
    if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) asked_to_stop_by_ = signal;
    courier::send(supervisor_, {signal, info.si_code > 0 ? courier::kKernel : info.si_pid});
  }

  void look_after_children() {
    int wait_status = 0;
    for (int pid = 0; (pid = ::waitpid(-1, &wait_status, WNOHANG | WUNTRACED)) > 0;) {
      if (pid != supervisor_) continue;  // an orphan that we adopted
      if (WIFSTOPPED(wait_status))
        stop_too();
      else
        end_as_the_supervisor(wait_status);
    }
  }

  /// The job and the supervisor have stopped for a Ctrl-Z; now the shell must see it happen.
  /// Without a shell that could ever continue us the kernel ignores the signal, and all go on at
  /// once.
  void stop_too() {
    if (asked_to_stop_by_ == 0) return;  // somebody has stopped the supervisor alone
    suffer(std::exchange(asked_to_stop_by_, 0));
    const sigset_t all = all_signals();
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    ::kill(supervisor_, SIGCONT);
  }

  [[noreturn]] void end_as_the_supervisor(int wait_status) {
    leave_nothing_running();
    end_like(*exit_status_from_wait(wait_status));
  }

  int supervisor_;
  int asked_to_stop_by_ = 0;
};

/// The guardian needs none of them. The supervisor must keep its own, which each attempt gets anew:
/// so a pipe that the job has closed ends for its reader only when the supervisor does.
void close_passed_fds() {
  if (!inherited().fds.empty()) ::close_range(STDERR_FILENO + 1, ~0U, 0);
}

}  // namespace

void split_guardian() {
  inherited();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t all = all_signals();
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  guardian = ::getpid();
  const int child = ::fork();
  if (child > 0) {
    close_passed_fds();
    Guardian(child).run();
  }
  if (child < 0) guardian = 0;  // we go on alone: less safe, but the job can run
  if (child == 0) {
    ::setsid();
    // Should the guardian be killed while the job is suspended, we must wake up to end the job: the
    // kernel continues only who is in the guardian's session. If it is gone before this call,
    // nobody has suspended us yet, and GuardianWatch sees it.
    ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t faults = own_faults();
  ::sigprocmask(SIG_UNBLOCK, &faults, nullptr);
}

int guardian_pid() {
  return guardian;
}

namespace {

[[noreturn]] void end_without_guardian() {
  leave_nothing_running();
  ::_exit(128 + SIGKILL);
}

}  // namespace

struct GuardianWatch::Watch {
  explicit Watch(asio::io_context& io) : pidfd(io) {}

  void await() {
    pidfd.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& error) {
                       if (error) return;
                       if (pidfd::has_ended(pidfd.native_handle())) end_without_guardian();
                       await();
                     });
  }

  asio::posix::stream_descriptor pidfd;
};

GuardianWatch::GuardianWatch(asio::io_context& io) {
  if (guardian == 0) return;
  const int fd = pidfd::open(guardian);
  // Asked only now, since before the pidfd was open it could still have ended unseen.
  if (::getppid() != guardian || fd < 0) end_without_guardian();
  watch_ = std::make_unique<Watch>(io);
  watch_->pidfd.assign(fd);
  watch_->await();
}

GuardianWatch::~GuardianWatch() = default;

void end_like(const ExitStatus& status) {
  if (const auto* exited = std::get_if<Exited>(&status)) ::_exit(exited->code);
  ::prctl(PR_SET_DUMPABLE, 0);
  suffer(std::get<Signaled>(status).signal);
  ::_exit(shell_code(status));
}

}  // namespace safelaunch
