#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <span>

#include "safelaunch/base/time.h"

/// Everything below a process, to be signalled or killed. All of it works without the heap, since
/// the guardian uses it too; for looking at trees there is host/process_tree.h.
namespace safelaunch::launch {

/// A process and the parent below which it was found. Not initialised, since a WalkRoom of it would
/// then touch all its pages.
struct Descendant {
  int pid;
  int parent;
  bool operator==(const Descendant&) const = default;
};

/// Lists the children of a process.
class ChildLister {
 public:
  virtual ~ChildLister() = default;

  /// Puts the children of `pid` into `out`, as many as fit, and returns how many it put.
  virtual std::size_t children_of(int pid, std::span<Descendant> out) = 0;
};

/// The real one: /proc/PID/task/TID/children of every thread, or, on kernels without these files,
/// the parents of all processes.
class ProcChildren final : public ChildLister {
 public:
  ProcChildren();
  std::size_t children_of(int pid, std::span<Descendant> out) override;

 private:
  bool proc_is_ours_;  // else its numbers are of processes of another pid namespace
};

/// Room for a walk: what was seen and not yet visited. Only the pages that are used cost memory.
using WalkRoom = std::array<Descendant, 16384>;

/// Calls visit(descendant) for everything below `root`; where that returns false, what is below the
/// descendant is left out. A process is visited *before* its children
/// are listed, because a process that was just killed forks no more: what it had forked is then
/// still below it, or was adopted by the subreaper above and is found by the next walk. The same
/// holds for what does not fit into `room`, so whoever kills walks until nothing is left.
template <class Visit>
void for_each_descendant(ChildLister& lister, int root, std::span<Descendant> room, Visit visit) {
  std::size_t waiting = lister.children_of(root, room);
  while (waiting > 0) {
    const Descendant next = room[--waiting];
    if (!visit(next)) continue;
    waiting += lister.children_of(next.pid, room.subspan(waiting));
  }
}

/// Zombies count. A subreaper without a child has no descendant either, and need not walk.
[[nodiscard]] bool has_children();

/// Notes the children that we have already: where a shell becomes safelaunch by exec, its children
/// become ours, and are none of the job's. Nor is what they orphan to us later: so where there are
/// any, only a child that carries our job's mark (host/owner_mark.h) is ours from then on. To be
/// called before anything is started.
void note_strangers();

/// A child that is ours without a mark: the supervisor.
void note_own_child(int pid);

/// After a fork: the children were the parent's.
void forget_strangers();

/// The time that all walks of one stop together give to processes that they meet between their fork
/// and their exec. Such a process still shows its starter's environment, and may ask to be kept by
/// its own. Walks that kill give none: a job that forks without end would outrun them.
struct ExecMoment {
  Duration left{50};
  Duration youth{200};  ///< a process that is older does not mean to execute anything soon
};

/// Whether a process that was found below us is to be left alone, with what is below it: it, or
/// what it descends from, was there before us, or asks to be kept (host/keep.h). A process that is
/// about to execute its program is looked at again, as long as the moment lasts.
[[nodiscard]] bool is_spared(const Descendant& found, ExecMoment& moment);

/// What became of a signal.
enum class Delivery {
  sent,
  refused,  ///< it may live, but is out of reach: another user's (a setuid program), hidden in
            ///< /proc
  gone,     ///< it has ended, or the pid belongs to a stranger by now
};

/// Sends a signal to a process that was found below `root`, and to nobody else: its pid may have
/// been given to a stranger since, so it is opened first and then asked who its parent is, which
/// must still be the one it was found under, or `root`, which adopts.
Delivery signal_descendant(const Descendant& descendant, int root, int signal);

/// What a walk met.
struct Met {
  std::size_t alive = 0;    ///< live processes that got the signal
  std::size_t refused = 0;  ///< that may not be signalled
  std::size_t spared = 0;   ///< that are not to be signalled
};

/// Sends a signal (0: none, only looks) to everything of ours below us, once through the tree, and
/// calls on_sent(descendant) for each that got it. What is forked meanwhile is left for the next
/// call.
template <class OnSent>
Met signal_descendants(int signal, ExecMoment& moment, OnSent on_sent) {
  Met met;
  const int self = ::getpid();
  ProcChildren children;
  WalkRoom room;
  for_each_descendant(children, self, room, [&](const Descendant& found) {
    if (is_spared(found, moment)) {
      ++met.spared;
      return false;
    }
    const Delivery delivery = signal_descendant(found, self, signal);
    if (delivery == Delivery::sent) {
      ++met.alive;
      on_sent(found);
    }
    if (delivery == Delivery::refused) ++met.refused;
    return true;
  });
  return met;
}
inline Met signal_descendants(int signal, ExecMoment& moment) {
  return signal_descendants(signal, moment, [](const Descendant&) {});
}

/// Kills everything of ours below us and reaps it, however quickly it forks. We must be a subreaper
/// and have SIGCHLD blocked. Blocks; gives up after `patience` and returns how many are left then
/// that were killed and live. For what may not be signalled it does not wait.
std::size_t kill_descendants(Duration patience);

/// So many walks in a row that met nobody prove that nobody is there. One does not: it may have
/// missed a process that was just changing its parent.
inline constexpr int kWalksThatProve = 6;

/// How long processes that were killed are waited for. One in state D ends only when its driver
/// lets it go, and one that has tens of gigabytes to unmap needs seconds.
inline constexpr Duration kKillPatience{10'000};

/// What of ours below us still lives, as far as it fits into `out`, and how many that is.
std::size_t living_descendants(std::span<Descendant> out);

/// Whether we may signal a process: not another user's, as a setuid program is.
[[nodiscard]] bool may_signal(int pid);

}  // namespace safelaunch::launch
