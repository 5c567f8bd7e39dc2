#include "kill.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/process_facts.h"

// Each process is held by a pidfd from the first look on, and its start time is compared, so no
// signal can reach another process that has taken its pid. All get SIGTERM together, share one
// grace, and the rest gets SIGKILL.
namespace safelaunch::clean {
namespace {

/// A process that has to end. Its descriptor cannot come to mean another process.
struct Target {
  ProcessId process;
  UniqueFd pidfd;
  EndResult result = EndResult::gone_before;

  [[nodiscard]] bool waits() const { return static_cast<bool>(pidfd); }
  void finish(EndResult with) {
    result = with;
    pidfd.reset();
  }
};

Target open_target(ProcessId process) {
  Target target{process, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0))), {}};
  // The start time is compared after the opening, so from here on the descriptor is this process,
  // or no process at all.
  const host::Life life = host::life_of(process);
  if (life == host::Life::ended)
    target.finish(EndResult::gone_before);
  else if (life == host::Life::hidden || !target.pidfd)
    target.finish(EndResult::refused);
  return target;
}

void send(Target& target, int signal) {
  if (!target.waits() || !host::is_running(target.process)) return;
  const auto sent = ::syscall(SYS_pidfd_send_signal, target.pidfd.get(), signal, nullptr, 0);
  if (sent != 0 && errno == EPERM) target.finish(EndResult::refused);
}

void send_all(std::vector<Target>& targets, int signal) {
  for (auto& target : targets) send(target, signal);
}

/// Waits until all have ended or the time is over, and gives the result to those that have ended.
void await(std::vector<Target>& targets, TimePoint deadline, EndResult result) {
  for (;;) {
    std::vector<pollfd> polled;
    for (const auto& target : targets)
      if (target.waits()) polled.push_back({target.pidfd.get(), POLLIN, 0});
    if (polled.empty()) return;
    const auto left = std::chrono::ceil<Duration>(deadline - Clock::now());
    if (left <= Duration{}) return;
    ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    for (const auto& entry : polled)
      if (entry.revents != 0)
        std::ranges::find(targets, entry.fd, [](const Target& t) {
          return t.pidfd.get();
        })->finish(result);
  }
}

}  // namespace

const char* name(EndResult result) {
  switch (result) {
    case EndResult::gone_before: return "was gone already";
    case EndResult::ended: return "ended";
    case EndResult::killed: return "killed";
    case EndResult::refused: return "may not be signalled";
    case EndResult::survived: return "cannot be killed (in uninterruptible sleep)";
  }
  return "";
}

std::vector<EndedProcess> end_processes(std::span<const ProcessId> processes, EndLimits limits) {
  std::vector<Target> targets;
  for (const auto& process : processes) targets.push_back(open_target(process));

  send_all(targets, SIGTERM);
  send_all(targets, SIGCONT);
  await(targets, Clock::now() + limits.grace, EndResult::ended);
  send_all(targets, SIGKILL);
  await(targets, Clock::now() + limits.dying, EndResult::killed);
  for (auto& target : targets)
    if (target.waits()) target.finish(EndResult::survived);

  std::vector<EndedProcess> results;
  for (const auto& target : targets) results.push_back({target.process, target.result});
  return results;
}

}  // namespace safelaunch::clean
