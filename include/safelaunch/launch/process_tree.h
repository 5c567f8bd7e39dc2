#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "safelaunch/base/time.h"

/// Everything below a process, to be signalled or killed. All of it works without the heap, since
/// the guardian uses it too; for looking at trees there is host/process_tree.h.
namespace safelaunch {

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
  std::size_t children_of(int pid, std::span<Descendant> out) override;
};

/// Room for a walk: what was seen and not yet visited. Only the pages that are used cost memory.
using WalkRoom = std::array<Descendant, 16384>;

/// Calls visit(descendant) for everything below `root`. A process is visited *before* its children
/// are listed, because a process that was just killed forks no more: what it had forked is then
/// still below it, or was adopted by the subreaper above and is found by the next walk. The same
/// holds for what does not fit into `room`, so whoever kills walks until nothing is left.
template <class Visit>
void for_each_descendant(ChildLister& lister, int root, std::span<Descendant> room, Visit visit) {
  std::size_t waiting = lister.children_of(root, room);
  while (waiting > 0) {
    const Descendant next = room[--waiting];
    visit(next);
    waiting += lister.children_of(next.pid, room.subspan(waiting));
  }
}

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

/// Sends a signal to everything below ourselves, once through the tree; returns how many live
/// processes it met. What is forked meanwhile is left for the next call.
std::size_t signal_descendants(int signal);

/// Kills everything below ourselves and reaps it, however quickly it forks. We must be a subreaper
/// and have SIGCHLD blocked. Blocks; gives up after `patience` and returns how many live ones are
/// left then.
std::size_t kill_descendants(Duration patience);

/// So many walks in a row that met nobody prove that nobody is there. One does not: it may have
/// missed a process that was just changing its parent.
inline constexpr int kWalksThatProve = 6;

/// How long processes that were killed are waited for. One in state D ends only when its driver
/// lets it go, and one that has tens of gigabytes to unmap needs seconds.
inline constexpr Duration kKillPatience{10'000};

/// The pids below us that still live, as far as they fit into `out`, and how many that is.
std::size_t living_descendants(std::span<Descendant> out);

}  // namespace safelaunch
