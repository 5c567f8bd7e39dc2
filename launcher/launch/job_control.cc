#include "safelaunch/launch/job_control.h"

#include <unistd.h>

#include <csignal>
#include <vector>

#include "safelaunch/host/proc.h"
#include "safelaunch/launch/descendants.h"
#include "safelaunch/launch/guardian.h"

namespace safelaunch::launch {
namespace {

/// A process that ran and was stopped by us.
struct Frozen {
  Descendant where;
  std::uint64_t start_ticks = 0;
};

/// Stops everything of ours below us. It sends SIGSTOP, since the kernel ignores the softer signals
/// in a process group whose session has no shell.
std::vector<Frozen> freeze_descendants() {
  std::vector<Frozen> frozen;
  ProcChildren children;
  WalkRoom room;
  host::ExecMoment moment;
  const int self = ::getpid();
  for_each_descendant(children, self, room, [&](const Descendant& found) {
    const auto stat = host::stat_of(found.pid);
    const char state = host::state_of(found.pid);
    if (is_spared(found, moment)) return false;
    if (!stat || state == 'T' || state == 't' || state == 'Z') return true;
    if (signal_descendant(found, self, SIGSTOP) == Delivery::sent)
      frozen.push_back({found, stat->start_ticks});
    return true;
  });
  return frozen;
}

void thaw(const std::vector<Frozen>& frozen) {
  const int self = ::getpid();
  for (const Frozen& process : frozen) {
    const auto stat = host::stat_of(process.where.pid);
    if (stat && stat->start_ticks == process.start_ticks)
      signal_descendant(process.where, self, SIGCONT);
  }
}

}  // namespace

Duration suspend_job() {
  const TimePoint before = Clock::now();
  const auto frozen = freeze_descendants();
  ::raise(SIGSTOP);  // the guardian sees it, and stops itself as the shell expects
  thaw(frozen);
  return std::chrono::duration_cast<Duration>(Clock::now() - before);
}

bool in_foreground() {
  const auto stat = host::stat_of(guardian_pid() != 0 ? guardian_pid() : ::getpid());
  return stat && stat->terminal_group == stat->group;
}

}  // namespace safelaunch::launch
