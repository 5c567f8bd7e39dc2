#include "safelaunch/launch/terminal_loan.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

#include "halves.h"
#include "inherited.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/launch/signals.h"

// The supervisor is to the job what a shell is: the leader of its session, which sets the
// foreground of the session's terminal. It blocks SIGTTOU, so it may always do so. The modes that
// the true terminal had stand in the page of both halves: where the supervisor is killed, the
// guardian restores them.
namespace safelaunch::launch {
namespace {

using Descriptor = boost::asio::posix::stream_descriptor;

/// How often a job is looked at for what nobody tells us. A look costs more the more threads the
/// job has; all looks together take no more than a hundredth of the time.
constexpr Duration kLookAgain{500};
constexpr int kTimesItsCost = 100;

/// A terminal takes no more than this of a line.
constexpr std::size_t kKeysAtOnce = 512;

Halves alone{};  // where the program was not split

Halves& page() {
  return halves() != nullptr ? *halves() : alone;
}

bool asks_for_terminal(int signal) {
  return signal == SIGTTIN || signal == SIGTTOU;
}

/// Each key comes as it is. The ends of lines in the output are still adapted by this terminal, as
/// the job's does not.
termios with_raw_keys(termios modes) {
  const tcflag_t output = modes.c_oflag;
  ::cfmakeraw(&modes);
  modes.c_oflag = output;
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  return modes;
}

void give_input_modes(const termios& ours, int pty) {
  termios modes{};
  if (::tcgetattr(pty, &modes) != 0) return;
  modes.c_iflag = ours.c_iflag;
  modes.c_lflag = ours.c_lflag;
  std::copy(std::begin(ours.c_cc), std::end(ours.c_cc), std::begin(modes.c_cc));
  ::tcsetattr(pty, TCSANOW, &modes);
}

/// Whether SIGTTIN is in this set of the process: "SigIgn".
bool has_ttin(const std::string& status, std::string_view set) {
  const std::string key = fmt::format("\n{}:\t", set);
  const auto at = status.find(key);
  if (at == std::string::npos) return false;
  const auto signals = std::strtoull(status.c_str() + at + key.size(), nullptr, 16);
  return (signals & (1ULL << (SIGTTIN - 1))) != 0;
}

std::string status_of(int pid) {
  return host::read_whole(host::ProcPath(pid, "status").c_str()).value_or("");
}

/// `timeout` and its like ignore SIGTTIN, so that a stop of what they run is not theirs.
bool is_deaf(ProcessId job) {
  return has_ttin(status_of(job.pid), "SigIgn");
}

/// Whether some process of the job's own process group is such a one.
bool has_in_group(ProcessId job, const std::function<bool(const host::ProcessFacts&)>& such) {
  const auto tree = host::tree_of(job, host::Procfs());
  return std::ranges::any_of(tree, [&](const host::ProcessFacts& process) {
    const auto stat = host::stat_of(process.id.pid);
    return stat && stat->group == job.pid && such(process);
  });
}

bool is_stopped(const host::ProcessFacts& process) {
  return process.state == 'T';
}

/// Whether a read in the background would not stop the process: it would fail, or be tried again
/// for ever.
bool cannot_be_stopped(const host::ProcessFacts& process) {
  const std::string status = status_of(process.id.pid);
  return has_ttin(status, "SigIgn") || has_ttin(status, "SigBlk") || has_ttin(status, "SigCgt");
}

bool reads_terminal(const host::ProcessSample& process) {
  return std::ranges::any_of(process.threads, &host::ThreadSample::at_terminal);
}

bool somebody_reads_terminal(ProcessId job) {
  const auto sample = host::sample_tree(job, Clock::now(), host::Procfs());
  return std::ranges::any_of(sample.processes, reads_terminal);
}

bool stdin_is(int pid, std::string_view terminal) {
  std::array<char, 64> target{};
  const auto size = ::readlink(host::ProcPath(pid, "fd/0").c_str(), target.data(), target.size());
  return size > 0 && std::string_view(target.data(), static_cast<std::size_t>(size)) == terminal;
}

/// The kernel stops nobody who reads a terminal that is not the terminal of its session, so it is
/// with the ranks of torchrun, each of which leads a session (`input()`, pdb), or in the
/// foreground.
bool is_read_without_a_stop(ProcessId job, int master) {
  std::array<char, 64> name{};
  const auto own = host::stat_of(job.pid);
  if (!own || ::ptsname_r(master, name.data(), name.size()) != 0) return false;
  const bool in_front = ::tcgetpgrp(master) == job.pid;
  const auto sample = host::sample_tree(job, Clock::now(), host::Procfs());
  return std::ranges::any_of(sample.processes, [&](const auto& process) {
    if (!reads_terminal(process)) return false;
    const int pid = process.facts.id.pid;
    const auto stat = host::stat_of(pid);
    if (stat && stat->group == job.pid) return in_front;
    return stat && stat->session != own->session && stdin_is(pid, name.data());
  });
}

}  // namespace

/// The way of the keys from our terminal to the job's.
struct TerminalLoan::Keys : std::enable_shared_from_this<Keys> {
  Keys(boost::asio::io_context& io, int our_terminal, UniqueFd pty_master, OnKey callback)
      : terminal(our_terminal),
        master(std::move(pty_master)),
        look(io),
        from(io),
        to(io),
        on_key(std::move(callback)) {}

  void lend(ProcessId to_job) {
    job = to_job;
    ::tcsetpgrp(master.get(), job.pid);
    termios modes{};
    if (page().keys_lent || ::tcgetattr(terminal, &modes) != 0) return;
    page().modes = modes;
    page().keys_lent = true;
    if ((modes.c_lflag & ICANON) != 0) read_typed_ahead(static_cast<char>(modes.c_cc[VEOF]));
    const termios raw = with_raw_keys(modes);
    ::tcsetattr(terminal, TCSANOW, &raw);
    if (open(from, terminal) && (to.is_open() || open(to, master.get()))) write_keys();
  }

  /// Takes the lines that were typed before the loan. The terminal has kept an end of the input
  /// (Ctrl-D) as no byte, and would forget it with the raw keys.
  void read_typed_ahead(char end_of_input) {
    std::array<char, kKeysAtOnce> room;
    for (pollfd typed{terminal, POLLIN, 0}; ::poll(&typed, 1, 0) > 0 && typed.revents == POLLIN;) {
      const ssize_t size = ::read(terminal, room.data(), room.size());
      if (size < 0) return;
      unwritten.append(room.data(), static_cast<std::size_t>(size));
      const bool cut = static_cast<std::size_t>(size) == room.size();
      if (size == 0 || (!cut && unwritten.back() != '\n')) unwritten.push_back(end_of_input);
    }
  }

  /// A job that no stop reaches may read without one: it waits there until it is seen to read.
  void let_read(ProcessId deaf_job) const { ::tcsetpgrp(master.get(), deaf_job.pid); }
  [[nodiscard]] bool may_read(ProcessId job_) const {
    return ::tcgetpgrp(master.get()) == job_.pid;
  }

  /// False where the kernel has no room for it.
  static bool open(Descriptor& descriptor, int fd) {
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    boost::system::error_code refused;
    descriptor.assign(copy.get(), refused);
    if (!refused) (void)copy.release();
    return !refused;
  }

  /// True if they were lent.
  bool take_back() {
    from.close();
    if (!page().keys_lent) return false;
    restore_terminal();
    ::tcsetpgrp(master.get(), ::getpgrp());
    return true;
  }

  void await_keys() {
    from.async_wait(Descriptor::wait_read,
                    [self = shared_from_this()](const boost::system::error_code& error) {
                      if (!error) self->read_keys();
                    });
  }

  void read_keys() {
    // Somebody else may have read the key: the terminal is not ours alone, and a read would wait.
    pollfd readable{from.native_handle(), POLLIN, 0};
    if (::poll(&readable, 1, 0) == 0) return await_keys();
    std::array<char, kKeysAtOnce> room;
    const ssize_t size = ::read(from.native_handle(), room.data(), room.size());
    if (size <= 0) return from.close();  // the terminal is gone
    const std::string_view typed(room.data(), static_cast<std::size_t>(size));
    for (const char key : typed)
      if (const int signal = signal_of(key); signal != 0) {
        const bool is_theirs = has_job_control() || somebody_reads_terminal(job);
        on_key(signal, is_theirs ? TerminalLoan::KeyIsFor::job : TerminalLoan::KeyIsFor::us);
        if (!is_theirs) return await_keys();
      }
    unwritten.append(typed);
    write_keys();
  }

  /// A shell in the job has put a job of its own in front: Ctrl-C is meant for that one.
  [[nodiscard]] bool has_job_control() const {
    const pid_t in_front = ::tcgetpgrp(master.get());
    return in_front > 0 && in_front != job.pid;
  }

  /// The signal for which the key stands; 0: none.
  int signal_of(char key) {
    termios modes{};
    if (::tcgetattr(master.get(), &modes) != 0 || (modes.c_lflag & ISIG) == 0) return 0;
    const auto is = [&](int what) { return static_cast<cc_t>(key) == modes.c_cc[what]; };
    return is(VINTR) ? SIGINT : is(VQUIT) ? SIGQUIT : 0;
  }

  /// Reads on only when the job's terminal has taken what was read.
  void write_keys() {
    const ssize_t size = ::write(to.native_handle(), unwritten.data(), unwritten.size());
    if (size > 0) unwritten.erase(0, static_cast<std::size_t>(size));
    if (size < 0 && errno != EAGAIN && errno != EINTR) unwritten.clear();  // nobody has it open
    if (unwritten.empty()) return await_keys();
    to.async_wait(Descriptor::wait_write,
                  [self = shared_from_this()](const boost::system::error_code& error) {
                    if (!error && self->from.is_open()) self->write_keys();
                  });
  }

  int terminal;
  UniqueFd master;
  ProcessId job;
  boost::asio::steady_timer look;
  Descriptor from;
  Descriptor to;
  OnKey on_key;
  std::string unwritten;
  Duration look_took{};
  bool over = false;  ///< the loan that has made it is gone
};

TerminalLoan::TerminalLoan(boost::asio::io_context& io, OnKey on_key, Drain drain)
    : io_(io), on_key_(std::move(on_key)), drain_(std::move(drain)) {}

// The session gives its terminal up before the master is closed, since the kernel would take that
// for a hangup of our whole session.
TerminalLoan::~TerminalLoan() {
  if (!keys_) return;
  keys_->over = true;
  keys_->look.cancel();
  keys_->take_back();
  keys_->to.close();
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (terminal) ::ioctl(terminal.get(), TIOCNOTTY);
}

bool TerminalLoan::offer(int terminal, int master, int slave) {
  termios modes{};
  UniqueFd end(::fcntl(master, F_DUPFD_CLOEXEC, 0));
  if (!end || ::tcgetattr(terminal, &modes) != 0 || ::ioctl(slave, TIOCSCTTY, 0) != 0) return false;
  give_input_modes(modes, master);
  keys_ = std::make_shared<Keys>(io_, terminal, std::move(end), on_key_);
  return true;
}

void TerminalLoan::watch(Child& job) {
  job.when_stopped([this, &job](int signal) { job_stopped(job, signal); });
  look_later(job);
}

void TerminalLoan::look_later(const Child& job) {
  keys_->look.expires_after(std::max(kLookAgain, keys_->look_took * kTimesItsCost));
  keys_->look.async_wait([this, keys = keys_, &job](const boost::system::error_code& cancelled) {
    if (cancelled || keys->over || !job.running()) return;
    const TimePoint began = Clock::now();
    if (!page().keys_lent) look(job);
    keys->look_took = std::chrono::duration_cast<Duration>(Clock::now() - began);
    look_later(job);
  });
}

void TerminalLoan::look(const Child& job) {
  if (is_deaf(job.id()) && has_in_group(job.id(), is_stopped)) return job_stopped(job, SIGTTIN);
  if (!in_foreground()) return;
  if (is_read_without_a_stop(job.id(), keys_->master.get())) {
    drain_();
    keys_->lend(job.id());
  } else if (!keys_->may_read(job.id()) && has_in_group(job.id(), cannot_be_stopped)) {
    keys_->let_read(job.id());
  }
}

void TerminalLoan::job_stopped(const Child& job, int signal) {
  if (asks_for_terminal(signal) && in_foreground()) {
    drain_();
    keys_->lend(job.id());
    return job.send_to_group(SIGCONT);
  }
  if (!page().keys_lent && !asks_for_terminal(signal)) return;
  suspend(job, signal == SIGSTOP ? SIGTSTP : signal);
  // The kernel does the same with a stopped job whose shell has gone.
  if (asks_for_terminal(signal) && page().did_not_stop) job.send_to_group(SIGHUP);
  job.send_to_group(SIGCONT);
  forget_continue();
}

void TerminalLoan::suspend(const Child& job, int signal) {
  drain_();
  const bool lent = keys_ && keys_->take_back();
  suspend_job(signal);
  if (lent && in_foreground()) keys_->lend(job.id());
}

void TerminalLoan::job_ended(const ExitStatus& status) {
  if (!keys_) return;
  drain_();
  if (!keys_->take_back()) return;
  const auto* killed = std::get_if<Signaled>(&status);
  const bool by_key = killed != nullptr && (killed->signal == SIGINT || killed->signal == SIGQUIT);
  if (by_key && guardian_pid() != 0) ::kill(-::getpgid(guardian_pid()), killed->signal);
}

bool job_ignores_stops() {
  return sigismember(&inherited().ignored, SIGTTIN) == 1 ||
         sigismember(&inherited().mask, SIGTTIN) == 1;
}

int shells_terminal() {
  if (!has_terminal()) return -1;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::isatty(fd) != 0) return fd;
  return -1;
}

void restore_terminal() {
  if (!page().keys_lent.exchange(false)) return;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::isatty(fd) != 0) {
      ::tcsetattr(fd, TCSADRAIN, &page().modes);
      return;
    }
}

}  // namespace safelaunch::launch
