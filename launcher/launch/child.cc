#include "safelaunch/launch/child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/process/v2/posix/vfork_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "inherited.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/launch/find_program.h"

// Everything that can fail for want of memory is made before the fork. Between fork and exec there
// are only system calls: first the tie to the parent and the session, then descriptors and CPUs, at
// last the signals. The step at which one fails comes back with its errno through the
// pipe of Boost.Process, so that the error can name it.
namespace safelaunch::launch {
namespace {

/// The steps of a start.
enum class ExecStep { session = 1, descriptors, cpus, exec };

/// The step at which a start failed, and its errno, as one number that fits through Boost.Process's
/// error pipe.
struct ExecFailure {
  ExecStep step = ExecStep::exec;
  int error = 0;  ///< errno

  [[nodiscard]] int packed() const { return static_cast<int>(step) << 16 | error; }
  [[nodiscard]] static ExecFailure unpack(int packed) {
    return {static_cast<ExecStep>(packed >> 16), packed & 0xffff};
  }
};

/// Everything that a child needs between fork and exec. It is made before the fork, since nothing
/// may be allocated between the two. It holds pointers into itself and into `spec`, so it cannot be
/// moved.
class ExecPlan {
 public:
  ExecPlan(const LaunchSpec& spec, std::string program);
  ExecPlan(const ExecPlan&) = delete;
  ExecPlan& operator=(const ExecPlan&) = delete;

  /// Becomes the program, in the child, or returns the failure.
  [[nodiscard]] ExecFailure run() const;

 private:
  [[nodiscard]] bool tie_to_parent() const;
  [[nodiscard]] bool arrange_descriptors() const;
  [[nodiscard]] bool bind_cpus() const;
  void exec() const;

  const LaunchSpec& spec_;
  std::string program_;
  std::vector<std::string> variables_;
  std::vector<char*> argv_;
  std::vector<char*> shell_argv_;  ///< sh PROGRAM ARG...
  std::vector<char*> envp_;
  cpu_set_t cpus_;
  int parent_;
};

std::vector<std::string> to_variables(const Environment& environment) {
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  return variables;
}

/// exec's signatures date from before const.
char* pointer_to(const std::string& text) {
  return const_cast<char*>(text.c_str());
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(pointer_to(text));
  pointers.push_back(nullptr);
  return pointers;
}

void restore_signals_and_limits(const Inherited& from) {
  for (int signal = 1; signal < NSIG; ++signal)
    ::signal(signal, sigismember(&from.ignored, signal) == 1 ? SIG_IGN : SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &from.mask, nullptr);
  ::setrlimit(RLIMIT_NOFILE, &from.descriptors);
}

/// Kernels before 5.11 have no close_range with CLOSE_RANGE_CLOEXEC.
void close_on_exec_one_by_one(unsigned first, unsigned last) {
  host::for_each_number("/proc/self/fd", [&](int fd) {
    const auto number = static_cast<unsigned>(fd);
    if (number >= first && number <= last) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  });
}

void close_on_exec(unsigned first, unsigned last) {
  if (first > last || ::close_range(first, last, CLOSE_RANGE_CLOEXEC) == 0) return;
  close_on_exec_one_by_one(first, last);
}

/// The program gets the descriptors from 3 on that the shell meant for it, and none of ours: not
/// every library opens its own close-on-exec.
void close_ours_on_exec(const std::vector<int>& passed) {
  unsigned first = STDERR_FILENO + 1;
  for (const int fd : passed) {
    close_on_exec(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  close_on_exec(first, ~0U);
}

int open_null() {
  return ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

ExecPlan::ExecPlan(const LaunchSpec& spec, std::string program)
    : spec_(spec),
      program_(std::move(program)),
      variables_(to_variables(spec.environment)),
      argv_(pointers_to(spec.argv)),
      shell_argv_(argv_),
      envp_(pointers_to(variables_)),
      parent_(::getpid()) {
  static const std::string shell = "sh";
  shell_argv_.front() = pointer_to(program_);
  shell_argv_.insert(shell_argv_.begin(), pointer_to(shell));
  CPU_ZERO(&cpus_);
  for (const int cpu : spec.cpus) CPU_SET(static_cast<std::size_t>(cpu), &cpus_);
}

ExecFailure ExecPlan::run() const {
  errno = 0;
  if (!tie_to_parent()) return {ExecStep::session, errno};
  if (!arrange_descriptors()) return {ExecStep::descriptors, errno};
  if (!bind_cpus()) return {ExecStep::cpus, errno};
  close_ours_on_exec(inherited().fds);
  restore_signals_and_limits(inherited());
  exec();
  return {ExecStep::exec, errno};
}

bool ExecPlan::tie_to_parent() const {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (::getppid() != parent_)
    ::_exit(128 + SIGKILL);  // the parent was killed before PDEATHSIG could take effect
  if (spec_.session == Session::own) return ::setsid() >= 0;
  if (::setpgid(0, 0) != 0) return false;
  if (spec_.foreground_of) ::tcsetpgrp(*spec_.foreground_of, ::getpid());
  return true;
}

bool ExecPlan::arrange_descriptors() const {
  std::array<int, 3> sources{};
  const std::array wanted{spec_.in, spec_.out, spec_.err};
  // The sources must first leave 0, 1 and 2, which are about to be overwritten.
  for (int target = 0; target < 3; ++target) {
    const auto& want = wanted[static_cast<std::size_t>(target)];
    int& source = sources[static_cast<std::size_t>(target)];
    source = want ? *want : open_null();
    if (source < 3 && source != target) source = ::fcntl(source, F_DUPFD_CLOEXEC, 3);
    if (source < 0) return false;
  }
  for (int target = 0; target < 3; ++target) {
    const int source = sources[static_cast<std::size_t>(target)];
    if (source != target && ::dup2(source, target) < 0) return false;
  }
  return true;
}

bool ExecPlan::bind_cpus() const {
  return spec_.cpus.empty() || ::sched_setaffinity(0, sizeof(cpus_), &cpus_) == 0;
}

void ExecPlan::exec() const {
  ::execve(program_.c_str(), argv_.data(), envp_.data());
  // A shell runs a script without a "#!" line itself, and so do we.
  if (errno == ENOEXEC) ::execve("/bin/sh", shell_argv_.data(), envp_.data());
}

namespace process = boost::process::v2;

/// Our part of a start by Boost.Process. It includes the exec itself, because the launcher would
/// first close every descriptor that the shell has given us for the job.
class ExecSetup {
 public:
  explicit ExecSetup(const ExecPlan& plan) : plan_(plan) {}

  template <class Launcher, class Path>
  boost::system::error_code on_exec_setup(Launcher&, const Path&, const char* const*&) const {
    errno = plan_.run().packed();  // the launcher reads the failure from errno
    return {errno, boost::system::system_category()};
  }

  /// Variadic, because Boost 1.81 looks for another signature than the one it then calls. _exit,
  /// because it would otherwise run our parent's exit handlers in the child.
  template <class... Ignored>
  void on_exec_error(Ignored&&...) const {
    ::_exit(127);
  }

 private:
  const ExecPlan& plan_;
};

/// Stands for our io_context towards Boost.Process. Boost tells a context of the fork, and the real
/// one would then set up everything that it watches once more, in memory that after vfork is still
/// the parent's.
class UntoldContext {
 public:
  explicit UntoldContext(boost::asio::io_context& io) : io_(io) {}

  void notify_fork(boost::asio::execution_context::fork_event) {}
  operator boost::asio::execution_context&() { return io_; }

 private:
  boost::asio::io_context& io_;
};

/// Leads to such a context. Nothing is ever run by it, since the Reaper waits for the child.
class UntoldExecutor {
 public:
  explicit UntoldExecutor(UntoldContext& context) : context_(&context) {}

  [[nodiscard]] UntoldContext& query(boost::asio::execution::context_t) const noexcept {
    return *context_;
  }
  template <class Function>
  void execute(Function&&) const {}
  bool operator==(const UntoldExecutor&) const noexcept = default;

 private:
  UntoldContext* context_;
};

const char* doing(ExecStep step) {
  switch (step) {
    case ExecStep::session: return "making a session for it";
    case ExecStep::descriptors: return "connecting its input and output";
    case ExecStep::cpus: return "binding it to its CPUs";
    case ExecStep::exec: return "executing it";
  }
  return "starting it";
}

Error not_executed(const std::string& program, int error) {
  if (error == ENOENT)
    return {Errc::not_found,
            fmt::format("cannot execute {}: the interpreter in its first line does not exist",
                        program)};
  return {Errc::not_executable,
          fmt::format("cannot execute {}: {}", program, std::strerror(error))};
}

Error not_started(const std::string& program, const ExecFailure& failure) {
  if (failure.step == ExecStep::exec) return not_executed(program, failure.error);
  return {Errc::os, fmt::format("cannot start {}: {} failed: {}", program, doing(failure.step),
                                std::strerror(failure.error))};
}

/// Starts the child and returns its pid. It uses vfork, since the exec would only throw a copy of
/// our memory away.
Result<int> launch(boost::asio::io_context& io, const ExecPlan& plan, const std::string& program) {
  process::posix::vfork_launcher launcher;
  UntoldContext context(io);
  try {
    boost::system::error_code error;
    auto started = launcher(UntoldExecutor(context), error, program, std::vector<std::string>(),
                            ExecSetup(plan));
    if (!error) return started.detach().id();
    if (launcher.pid <= 0)
      return Error{Errc::os, fmt::format("cannot fork for {}: {}", program, error.message())};
    ::waitpid(launcher.pid, nullptr, 0);  // the launcher leaves a zombie
    return not_started(program, ExecFailure::unpack(error.value()));
  } catch (const std::exception& problem) {
    if (launcher.pid > 0 && ::kill(launcher.pid, SIGKILL) == 0) ::waitpid(launcher.pid, nullptr, 0);
    return Error{Errc::os, fmt::format("cannot watch {}: {} (a pidfd needs Linux 5.3 and a seccomp "
                                       "filter that allows pidfd_open)",
                                       program, problem.what())};
  }
}

Result<void> check(const LaunchSpec& spec) {
  if (spec.argv.empty()) return Error{Errc::usage, "there is no command to start"};
  for (const int cpu : spec.cpus)
    if (cpu < 0 || cpu >= CPU_SETSIZE)
      return Error{Errc::usage, fmt::format("there is no CPU {} to run on", cpu)};
  return {};
}

}  // namespace

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    kill_and_forget();
    awaited_ = std::move(other.awaited_);
  }
  return *this;
}

Child::~Child() {
  kill_and_forget();
}

void Child::kill_and_forget() {
  if (!running()) return;
  awaited_->on_exit = nullptr;
  awaited_->on_stop = nullptr;
  send(SIGKILL);
}

void Child::send(int signal) const {
  // The pid is safe: nobody else gets the pid of our child before the Reaper has set `ended`.
  if (running()) ::kill(awaited_->process.pid, signal);
}

void Child::send_to_group(int signal) const {
  if (running()) ::kill(-awaited_->process.pid, signal);
}

Result<Child> spawn(Reaper& reaper, const LaunchSpec& spec, Reaper::OnExit on_exit) {
  if (const auto checked = check(spec); !checked) return checked.error();
  auto program = find_program(spec.argv.front(), spec.environment);
  if (!program) return program.error();
  const ExecPlan plan(spec, *program);
  const auto pid = launch(reaper.io(), plan, *program);
  if (!pid) return pid.error();
  const auto stat = host::stat_of(*pid);
  return Child(reaper.await({*pid, stat ? stat->start_ticks : 0}, std::move(on_exit)));
}

}  // namespace safelaunch::launch
