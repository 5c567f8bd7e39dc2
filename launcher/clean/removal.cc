#include "safelaunch/clean/removal.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/process_facts.h"

// The policy decides by the claim alone: a leftover without enough claim is left alone, and told.
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

constexpr const char* kLeftAlone = "left alone";

std::string remove_one(const StaleFile& stale) {
  const Result<void> removed = remove_stale(stale);
  return removed ? "removed" : removed.error().message;
}

/// Ends all of them together, since each may take the whole grace.
std::vector<Removal> end(const std::vector<StaleProcess>& processes, settings::CleanPolicy policy) {
  std::vector<ProcessId> doomed;
  for (const StaleProcess& stale : processes)
    if (acts_on(policy, stale.claim)) doomed.push_back(stale.process.id);
  const std::vector<EndedProcess> ended = end_processes(doomed);
  std::vector<Removal> removals;
  auto next = ended.begin();
  for (const StaleProcess& stale : processes)
    removals.push_back({stale, acts_on(policy, stale.claim) ? name((next++)->result) : kLeftAlone});
  return removals;
}

}  // namespace

// Each process is held by a pidfd from the first look on, and its start time is compared, so no
// signal can reach another process that has taken its pid. All get SIGTERM together, share one
// grace, and the rest gets SIGKILL.

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

std::vector<Removal> plan_removal(const Leftovers& left, settings::CleanPolicy policy) {
  std::vector<Removal> plan;
  for (const StaleProcess& stale : left.processes)
    plan.push_back({stale, acts_on(policy, stale.claim) ? "would be ended" : kLeftAlone});
  for (const StaleFile& stale : left.files)
    plan.push_back({stale, acts_on(policy, stale.claim) ? "would be removed" : kLeftAlone});
  return plan;
}

std::vector<Removal> remove(const Leftovers& left, settings::CleanPolicy policy) {
  std::vector<Removal> removals = end(left.processes, policy);
  for (const StaleFile& stale : left.files)
    removals.push_back({stale, acts_on(policy, stale.claim) ? remove_one(stale) : kLeftAlone});
  return removals;
}

namespace {

/// The way for a person to end what was left alone; empty where there is none.
std::string way_to_end(const StaleProcess& stale) {
  if (stale.claim == Claim::orphan) return "; `safelaunch clean --policy orphans` ends it";
  if (stale.claim != Claim::unproven || !stale.launcherless) return {};
  return fmt::format("; `safelaunch clean --pid {}` shows it, asks and ends it",
                     stale.process.id.pid);
}

std::string way_to_end(const StaleFile&) {
  return {};
}

}  // namespace

std::string describe(const Removal& removal) {
  const auto words = [&](const auto& stale) {
    return describe(stale) + (removal.done == kLeftAlone ? way_to_end(stale) : "");
  };
  return fmt::format("{}: {}", removal.done, std::visit(words, removal.what));
}

}  // namespace safelaunch::clean
