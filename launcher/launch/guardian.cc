#include "safelaunch/launch/guardian.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "ended_child.h"
#include "halves.h"
#include "inherited.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/launch/descendants.h"
#include "safelaunch/launch/pidfd.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/launch/terminal_loan.h"

/// The guardian is a loop over signals: it hands each on, looks after children at a SIGCHLD, and
/// has at most one deadline. The supervisor's side is below it: the split, and the watch that ends
/// the supervisor when the guardian is gone.
namespace safelaunch::launch {
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

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  char line[192];
  const auto end = fmt::format_to_n(line, sizeof(line), format, std::forward<Args>(args)...);
  (void)!::write(STDERR_FILENO, line, std::min(sizeof(line), end.size));
}

/// Tells of the processes that do not end. Another user's are left out, since the supervisor has
/// told of them if it could.
void report_survivors() {
  Descendant alive[16];
  const std::size_t count = living_descendants(alive);
  for (const Descendant& process : std::span(alive, std::min(count, std::size(alive))))
    if (may_signal(process.pid))
      say("safelaunch: process {} was killed but has not ended (state {}); it ends as soon as the "
          "kernel lets it\n",
          process.pid, host::state_of(process.pid));
}

void leave_nothing_running(Duration patience = kKillPatience) {
  if (kill_descendants(patience) > 0) report_survivors();
  restore_terminal();
}

enum class Whom { us, group };

/// Lets `signal` do to us what it does by default; to our whole process group, if the terminal
/// would have sent it there had the job no terminal of its own.
void suffer(int signal, Whom whom = Whom::us) {
  ::signal(signal, SIG_DFL);
  ::kill(whom == Whom::group ? 0 : ::getpid(), signal);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
}

/// A supervisor that reads nothing for this long after a second Ctrl-C will not end the job.
constexpr Duration kAnswersWithin{1'000};

/// The wait for a supervisor that has said goodbye and cannot be reaped yet, since a thread of it
/// is stuck in a write.
constexpr Duration kReapedWithin{1'000};

/// The patience with a deaf supervisor, which even SIGKILL may not end (state D).
constexpr Duration kDeafPatience{2'000};

/// The supervisor sees the end of its lease itself, and needs a moment to kill the job.
constexpr Duration kKillsByItself{1'500};

/// The guardian's whole life.
class Guardian {
 public:
  explicit Guardian(int supervisor) : supervisor_(supervisor) {}

  [[noreturn]] void run() {
    for (;;) {
      siginfo_t info{};
      const int signal = next_signal(info);
      if (signal == SIGCHLD)
        look_after_children();
      else if (signal > 0)
        hand_on(signal, info);
      if (answer_due_ && Clock::now() >= *answer_due_) judge_answer();
      if (end_due_ && Clock::now() >= *end_due_) end_without_reaping();
      if (const auto lease = lease_end(); lease && Clock::now() >= *lease) end_for_the_lease();
    }
  }

 private:
  [[nodiscard]] std::optional<TimePoint> deadline() const {
    const auto due = end_due_ ? end_due_ : answer_due_;
    const auto lease = lease_end();
    return due && lease ? std::min(due, lease) : due ? due : lease;
  }

  [[nodiscard]] static std::optional<TimePoint> lease_end() {
    const Clock::rep until = halves() == nullptr ? 0 : halves()->lease_until.load();
    if (until == 0) return std::nullopt;
    return TimePoint(Clock::duration(until)) + kKillsByItself;
  }

  /// Other nodes may start the same ranks again from now on, whatever holds up the supervisor.
  [[noreturn]] void end_for_the_lease() {
    say("safelaunch: its supervisor (pid {}) has told the other nodes nothing for too long; they "
        "count this node as lost, so the guardian kills the job here\n",
        supervisor_);
    leave_nothing_running(kDeafPatience);
    ::_exit(exit_code_of(Errc::peer_lost));
  }

  int next_signal(siginfo_t& info) const {
    const sigset_t all = all_signals();
    const auto until = deadline();
    if (!until) return ::sigwaitinfo(&all, &info);
    const auto left = std::max(Clock::duration::zero(), *until - Clock::now());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec timeout{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    return ::sigtimedwait(&all, &info, &timeout);
  }

  void hand_on(int signal, const siginfo_t& info) {
    if (signal == SIGCONT) {
      // As the signal itself, not as a letter: the supervisor may be stopped, and nothing else
      // wakes it.
      if (info.si_pid != supervisor_) ::kill(supervisor_, SIGCONT);
      return;
    }
    const bool ignored = sigismember(&inherited().ignored, signal) == 1;
    if (!ignored && (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU))
      asked_to_stop_by_ = signal;
    if (!ignored && (signal == SIGINT || signal == SIGTERM)) note_wish_to_end(signal);
    send_letter(supervisor_, {signal, info.si_code > 0 ? kKernel : info.si_pid});
  }

  /// Notes an INT or TERM. The second one is the user's last: from then on we, too, see to it that
  /// the job ends.
  void note_wish_to_end(int signal) {
    if (halves() == nullptr) return;
    const bool insists = std::exchange(wished_by_, wished_by_ == 0 ? signal : wished_by_) != 0;
    if (!insists || answer_due_) return;
    heard_before_ = halves()->heard;
    answer_due_ = Clock::now() + kAnswersWithin;
  }

  void judge_answer() {
    answer_due_.reset();
    if (halves()->heard != heard_before_) return;
    say("safelaunch: its supervisor (pid {}) has not answered for a second; the guardian kills the "
        "job\n",
        supervisor_);
    leave_nothing_running(kDeafPatience);
    ::_exit(128 + wished_by_);
  }

  void look_after_children() {
    int wait_status = 0;
    for (int pid = 0; (pid = next_ended_child(wait_status, WUNTRACED)) > 0;) {
      if (pid != supervisor_) continue;  // an orphan that we have adopted
      if (WIFSTOPPED(wait_status))
        stop_too();
      else
        end_as_the_supervisor(wait_status);
    }
    const bool says_goodbye = halves() != nullptr && halves()->farewell != 0;
    if (says_goodbye && !end_due_) end_due_ = Clock::now() + kReapedWithin;
  }

  /// Stops for a Ctrl-Z, after the job and the supervisor have stopped, since the shell must see
  /// the guardian stop. Without a shell that could ever continue us the kernel ignores the signal,
  /// and all go on at once.
  void stop_too() {
    const int job_by = halves() != nullptr ? halves()->stops_by.exchange(0) : 0;
    const int by = std::exchange(asked_to_stop_by_, 0);
    if (by == 0 && job_by == 0) return;  // somebody has stopped the supervisor alone
    by != 0 ? suffer(by) : suffer(job_by, Whom::group);
    const sigset_t all = all_signals();
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    // Whoever lets us go on does it by a SIGCONT, which is blocked and waits.
    sigset_t waiting;
    ::sigpending(&waiting);
    if (halves() != nullptr) halves()->did_not_stop = sigismember(&waiting, SIGCONT) == 0;
    ::kill(supervisor_, SIGCONT);
    forget_continue();
  }

  [[noreturn]] void end_as_the_supervisor(int wait_status) {
    leave_nothing_running();
    end_like(*exit_status_from_wait(wait_status));
  }

  [[noreturn]] void end_without_reaping() {
    ::kill(supervisor_, SIGKILL);
    kill_descendants(
        Duration{});  // no patience: the supervisor has told which processes it waits for
    restore_terminal();
    ::_exit(halves()->farewell - 1);
  }

  int supervisor_;
  int asked_to_stop_by_ = 0;
  int wished_by_ = 0;          // the first INT or TERM; 0: none yet
  unsigned heard_before_ = 0;  // the second
  std::optional<TimePoint> answer_due_;
  std::optional<TimePoint> end_due_;
};

/// Closes the descriptors that the shell meant for the job, which the guardian does not need. The
/// supervisor must keep its own for each further attempt: so a pipe that the job has closed ends
/// for its reader only when the supervisor ends.
void close_passed_fds() {
  if (!inherited().fds.empty()) ::close_range(STDERR_FILENO + 1, ~0U, 0);
}

/// A page that both halves see. It costs one page fault.
Halves* shared_page() {
  void* page =
      ::mmap(nullptr, sizeof(Halves), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) Halves{};
}

Halves* shared = nullptr;

}  // namespace

Halves* halves() {
  return shared;
}

void split_guardian() {
  inherited();
  note_strangers();
  shared = shared_page();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const sigset_t all = all_signals();
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  guardian = ::getpid();
  const int child = ::fork();
  if (child > 0) {
    close_passed_fds();
    note_own_child(child);
    Guardian(child).run();
  }
  if (child < 0) {  // we go on alone: less safe, but the job can run
    guardian = 0;
    shared = nullptr;
  }
  if (child == 0) {
    forget_strangers();
    ::setsid();
    // If the guardian is killed while the job is suspended, we must wake up to end the job; the
    // kernel itself wakes only processes of the guardian's session. If the guardian is gone before
    // this call, nobody has suspended us yet, and GuardianWatch sees that it is gone.
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
  const int error = errno;
  // The parent is read after the pidfd is open, since before that the guardian could have ended
  // unseen.
  if (::getppid() != guardian) end_without_guardian();
  if (fd < 0)
    throw std::runtime_error(fmt::format(
        "cannot watch its other half: pidfd_open: {} (it needs Linux 5.3, a seccomp filter that "
        "allows it, and free descriptors)",
        std::strerror(error)));
  watch_ = std::make_unique<Watch>(io);
  watch_->pidfd.assign(fd);
  watch_->await();
}

GuardianWatch::~GuardianWatch() = default;

void end_at_once(int exit_code) {
  if (shared != nullptr) {
    shared->farewell = exit_code + 1;
    ::kill(guardian, SIGCHLD);
  }
  ::_exit(exit_code);
}

void hold_lease(TimePoint until) {
  if (shared == nullptr) return;
  const bool is_first = shared->lease_until.exchange(until.time_since_epoch().count()) == 0;
  if (is_first) ::kill(guardian, SIGCHLD);  // it sleeps until it hears something
}

void release_lease() {
  if (shared != nullptr) shared->lease_until = 0;
}

void end_like(const ExitStatus& status) {
  if (const auto* exited = std::get_if<Exited>(&status)) ::_exit(exited->code);
  ::prctl(PR_SET_DUMPABLE, 0);
  suffer(std::get<Signaled>(status).signal);
  ::_exit(shell_code(status));
}

}  // namespace safelaunch::launch
