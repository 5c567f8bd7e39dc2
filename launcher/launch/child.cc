#include "safelaunch/launch/child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/process/v2/posix/vfork_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <cstring>
#include <utility>

#include "exec_plan.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/launch/find_program.h"

namespace safelaunch::launch {
namespace {

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
    case ExecStep::terminal: return "giving it its terminal";
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
