#include "safelaunch/launch/descendants.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "ended_child.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/process.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/launch/pidfd.h"

// A signal may reach only what is below us, and not a stranger who has got the pid since. So a
// process is opened before its parent is read. Two things can prove that nothing is left: the
// kernel says that we have no child, or several walks in a row have met nobody. One walk alone
// proves nothing, since a process may just be changing its parent.
namespace safelaunch::launch {
namespace {

using std::chrono::milliseconds;

enum class Reaped { all, some };

/// Reaps the children that have ended. `all` means that nothing is below us any more, since a
/// subreaper without a child has no descendant either.
Reaped reap_ended() {
  int wait_status = 0;
  pid_t pid = 0;
  do pid = next_ended_child(wait_status);
  while (pid > 0);
  return pid < 0 && errno == ECHILD ? Reaped::all : Reaped::some;
}

/// Reaps until `end`, and wakes up only when a child ends.
Reaped reap_until(TimePoint end) {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  while (reap_ended() == Reaped::some) {
    const auto left = end - Clock::now();
    if (left <= Duration::zero()) return Reaped::some;
    const timespec timeout{0, std::chrono::nanoseconds(left).count()};
    ::sigtimedwait(&child_ended, nullptr, &timeout);
  }
  return Reaped::all;
}

/// The children that were there before us. Beyond the room for them, all children without a mark
/// are spared as well.
struct Strangers {
  bool any = false;
  std::size_t count = 0;
  std::array<ProcessId, 1024> noted;
  std::array<char, 8192> mark;  // "SAFELAUNCH_OWNER=…", with all that run above us
  int own_child = 0;
};
Strangers strangers;

bool was_there_before_us(int pid) {
  const auto stat = host::stat_of(pid);
  const auto noted = std::span(strangers.noted).first(strangers.count);
  return !stat || std::ranges::find(noted, ProcessId{pid, stat->start_ticks}) != noted.end();
}

bool is_strangers_child(int pid, host::ExecMoment& moment) {
  return strangers.any &&
         (was_there_before_us(pid) || !host::was_started_with(pid, strangers.mark.data(), moment));
}

bool lives(int pid) {
  const UniqueFd process(pidfd::open(pid));
  return process ? !pidfd::has_ended(process.get()) : !pidfd::means_nobody(errno);
}

}  // namespace

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void note_strangers() {
  strangers.any = has_children();
  if (!strangers.any) return;
  std::array<Descendant, 1024> found;
  const std::size_t count = ProcChildren().children_of(::getpid(), found);
  for (const Descendant& child : std::span(found).first(count))
    if (const auto stat = host::stat_of(child.pid))
      strangers.noted[strangers.count++] = {child.pid, stat->start_ticks};
  *fmt::format_to_n(strangers.mark.data(), strangers.mark.size() - 1, "{}={}", kOwnerVariable,
                    host::owner_mark(host::self()))
       .out = '\0';
}

void note_own_child(int pid) {
  strangers.own_child = pid;
}

void forget_strangers() {
  strangers.any = false;
  strangers.count = 0;
}

bool is_spared(const Descendant& found, host::ExecMoment& moment) {
  if (found.pid == strangers.own_child) return false;
  if (found.parent == ::getpid() && is_strangers_child(found.pid, moment)) return true;
  return host::was_started_with(found.pid, kKeepSetting, moment);
}

ProcChildren::ProcChildren() : proc_is_ours_(host::proc_is_ours()) {}

std::size_t ProcChildren::children_of(int pid, std::span<Descendant> out) {
  if (!proc_is_ours_) return 0;
  std::size_t count = 0;
  host::for_each_child(pid, [&](int child) {
    if (count < out.size()) out[count++] = {child, pid};
  });
  return count;
}

Delivery signal_descendant(const Descendant& descendant, int root, int signal) {
  const UniqueFd process(pidfd::open(descendant.pid));
  if (!process) return pidfd::means_nobody(errno) ? Delivery::gone : Delivery::refused;
  if (pidfd::has_ended(process.get())) return Delivery::gone;
  const auto stat = host::stat_of(descendant.pid);
  if (!stat) return Delivery::refused;
  if (stat->parent != descendant.parent && stat->parent != root) return Delivery::gone;
  if (pidfd::send_signal(process.get(), signal)) return Delivery::sent;
  return errno == EPERM ? Delivery::refused : Delivery::gone;
}

std::size_t kill_descendants(Duration patience) {
  if (reap_ended() == Reaped::all) return 0;
  const TimePoint deadline = Clock::now() + patience;
  host::ExecMoment none{Duration::zero()};
  int met_nobody = 0;  // ECHILD may never come: only a debugger can reap its zombies
  // A walk is not free, and most of the processes that it killed need some time to end: so the
  // walks become rarer.
  for (milliseconds pause{2};; pause = std::min(pause * 2, milliseconds(64))) {
    const std::size_t alive = signal_descendants(SIGKILL, none).alive;
    met_nobody = alive == 0 ? met_nobody + 1 : 0;
    if (met_nobody > 0) pause = milliseconds(1);
    if (reap_until(Clock::now() + pause) == Reaped::all || met_nobody == kWalksThatProve) return 0;
    if (Clock::now() >= deadline) return alive;
  }
}

std::size_t living_descendants(std::span<Descendant> out) {
  std::size_t count = 0;
  ProcChildren children;
  WalkRoom room;
  host::ExecMoment none{Duration::zero()};
  for_each_descendant(children, ::getpid(), room, [&](const Descendant& found) {
    if (is_spared(found, none)) return false;
    if (count < out.size() && lives(found.pid)) out[count++] = found;
    return true;
  });
  return count;
}

bool may_signal(int pid) {
  return ::kill(pid, 0) == 0 || errno != EPERM;
}

}  // namespace safelaunch::launch
