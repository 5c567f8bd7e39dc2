#include "exec_plan.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "inherited.h"
#include "safelaunch/host/proc.h"

namespace safelaunch::launch {
namespace {

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

}  // namespace

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
  if (!take_terminal()) return {ExecStep::terminal, errno};
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
  return spec_.session == Session::shared || ::setsid() >= 0;
}

bool ExecPlan::take_terminal() const {
  return !spec_.terminal || ::ioctl(*spec_.terminal, TIOCSCTTY, 0) == 0;
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

}  // namespace safelaunch::launch
