#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <set>
#include <span>

#include "safelaunch/base/time.h"
#include "safelaunch/host/proc.h"

/// Signals or kills everything below a process. All of it but ask_descendants works without the
/// heap, since the guardian uses it too; host/process_tree.h is for those who only look at trees.
namespace safelaunch::launch {

/// A process and the parent below which it was found. It is not initialised, since a WalkRoom would
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

/// The lister of /proc.
class ProcChildren final : public ChildLister {
 public:
  ProcChildren();
  std::size_t children_of(int pid, std::span<Descendant> out) override;

 private:
  bool proc_is_ours_;  // else /proc has the numbers of another pid namespace
};

/// Room for the processes that a walk has seen and not yet visited. Only the pages that are used
/// cost memory.
using WalkRoom = std::array<Descendant, 16384>;

/// Calls visit(descendant) for everything below `root`; where that returns false, the walk does not
/// go below the descendant. A process is visited *before* its children are listed, because a
/// process that was just killed forks no more: its children are then still below it, or the
/// subreaper above has adopted them and the next walk finds them. The next walk also finds the
/// processes that do not fit into `room`, so a killer walks until nothing is left.
template <class Visit>
void for_each_descendant(ChildLister& lister, int root, std::span<Descendant> room, Visit visit) {
  std::size_t waiting = lister.children_of(root, room);
  while (waiting > 0) {
    const Descendant next = room[--waiting];
    if (!visit(next)) continue;
    waiting += lister.children_of(next.pid, room.subspan(waiting));
  }
}

/// Whether we have children, zombies included. A subreaper without a child has no descendant
/// either, and need not walk.
[[nodiscard]] bool has_children();

/// Notes the children that we have already. Where a shell becomes safelaunch by exec, its children
/// become ours, and do not belong to the job; nor do the orphans that they leave to us later. So
/// where there are any, only a child with our job's mark (host/identity.h) is ours from then on.
/// To be called before anything is started.
void note_strangers();

/// Notes a child that is ours without a mark: the supervisor.
void note_own_child(int pid);

/// Forgets the noted children after a fork, since they are the parent's.
void forget_strangers();

/// Whether a process that was found below us is left alone, with everything below it: it, or a
/// process above it, was there before us, or asks to be kept (host/identity.h). A process that is
/// about to execute its program is looked at again, as long as the moment lasts.
[[nodiscard]] bool is_spared(const Descendant& found, host::ExecMoment& moment);

/// The fate of a signal.
enum class Delivery {
  sent,
  /// The process may live, but is out of reach: another user's (a setuid program), or hidden in
  /// /proc.
  refused,
  gone,  ///< the process has ended, or its pid belongs to a stranger by now
};

/// Sends a signal to a process that was found below `root`, and to nobody else. A stranger may have
/// got its pid since. So the process is opened first, and then its parent is read: that must still
/// be the one under which it was found, or `root`, which adopts.
Delivery signal_descendant(const Descendant& descendant, int root, int signal);

/// The processes that a walk met.
struct Met {
  std::size_t alive = 0;    ///< those that live and got the signal
  std::size_t refused = 0;  ///< those that may not be signalled
  std::size_t spared = 0;   ///< those that are left alone
  std::size_t readers = 0;  ///< those that the caller passed over
};

/// Sends signal_for(pid) (0: none, only looks) to everything of ours below us, in one walk through
/// the tree, and calls on_sent(descendant) for each process that got it. Those for which
/// pass_over(pid) is true get none. Processes that are forked meanwhile are left for the next call.
template <class SignalFor, class OnSent, class PassOver>
Met signal_descendants(ChildLister& children, SignalFor signal_for, host::ExecMoment& moment,
                       OnSent on_sent, PassOver pass_over) {
  Met met;
  const int self = ::getpid();
  WalkRoom room;
  for_each_descendant(children, self, room, [&](const Descendant& found) {
    if (is_spared(found, moment)) {
      ++met.spared;
      return false;
    }
    if (pass_over(found.pid)) {
      ++met.readers;
      return true;
    }
    const Delivery delivery = signal_descendant(found, self, signal_for(found.pid));
    if (delivery == Delivery::sent) {
      ++met.alive;
      on_sent(found);
    }
    if (delivery == Delivery::refused) ++met.refused;
    return true;
  });
  return met;
}
inline Met signal_descendants(int signal, host::ExecMoment& moment) {
  ProcChildren children;
  return signal_descendants(
      children, [signal](int) { return signal; }, moment, [](const Descendant&) {},
      [](int) { return false; });
}

/// Kills everything of ours below us and reaps it, however quickly it forks. We must be a subreaper
/// and have SIGCHLD blocked. Blocks until all are gone or `patience` is over, and returns how many
/// were killed and still live. It does not wait for processes that may not be signalled.
std::size_t kill_descendants(Duration patience);

/// This many walks in a row that met nobody prove that nobody is there. One walk does not: it may
/// have missed a process that was just changing its parent.
inline constexpr int kWalksThatProve = 6;

/// Sends a signal to everything of ours below us, once to each process. One that ends of it at once
/// leaves its children to us while the walk is under way, so walks follow until one meets nobody
/// new. Gives what the last one met.
template <class OnSent, class PassOver>
Met ask_descendants(ChildLister& children, int signal, host::ExecMoment& moment, OnSent on_sent,
                    PassOver pass_over) {
  std::set<int> asked;
  Met met;
  for (int walks = 0; walks < kWalksThatProve; ++walks) {
    const std::size_t before = asked.size();
    met = signal_descendants(
        children, [&](int pid) { return asked.contains(pid) ? 0 : signal; }, moment,
        [&](const Descendant& found) {
          if (asked.insert(found.pid).second) on_sent(found);
        },
        pass_over);
    if (asked.size() == before) break;
  }
  return met;
}

/// The wait for processes that were killed. One in state D ends only when its driver lets it go,
/// and one that has tens of gigabytes to unmap needs seconds.
inline constexpr Duration kKillPatience{10'000};

/// Lists the living processes of ours below us, as far as they fit into `out`, and returns their
/// number.
std::size_t living_descendants(std::span<Descendant> out);

/// Whether we may signal a process. Those of another user are out of reach, a setuid program for
/// example.
[[nodiscard]] bool may_signal(int pid);

}  // namespace safelaunch::launch
