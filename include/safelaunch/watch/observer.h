#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "safelaunch/base/event.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/host/sockets.h"

/// How far ranks have come, without their hook: read off /proc and the socket table.
namespace safelaunch::watch {

/// One process below the job's root, as far as it matters here.
struct SeenProcess {
  ProcessId id;
  int parent = 0;
  std::optional<Rank> rank;       ///< RANK of its environment
  std::optional<int> world_size;  ///< WORLD_SIZE of its environment
  std::uint16_t store_port = 0;   ///< MASTER_PORT of its environment; 0: not set
  bool spawned_child = false;     ///< multiprocessing started it (its command line says spawn_main)
  bool has_torch = false;         ///< libtorch is mapped
  bool hosts_store = false;       ///< it listens at its store_port
  bool meets_store = false;       ///< it has a connection to its store_port
  bool makes_group = false;       ///< a thread of gloo's transport, which init starts
  bool has_group = false;         ///< the threads that a finished process group has
};

/// The job's processes at one moment, parents before their children.
using Snapshot = std::vector<SeenProcess>;

/// A rank and what the processes at and below its topmost one show together.
struct SeenRank {
  Rank rank;
  SeenProcess shows;
};

/// Turns snapshots into events with Source::proc: each rank and each stage once. Pure.
///
/// The rank's process is the topmost one with that RANK (its DataLoader workers inherit it); the
/// signs of all processes below it count for it. Children of torch.multiprocessing.spawn set RANK
/// inside themselves, where it cannot be seen: where nobody has one, two or more such siblings are
/// taken for ranks in the order of their start. The number is a guess. Where hooks in some of the
/// siblings contradict it, no number is given, and where a hook elsewhere knows its rank, these are
/// no ranks.
class Observer {
 public:
  /// `hooked`: the ranks of processes whose hook has said it. They speak for themselves, and
  /// nothing is told of them here. No guess goes beyond a world of this size (0: unknown).
  [[nodiscard]] std::vector<Event> on(const Snapshot& snapshot,
                                      const std::map<ProcessId, Rank>& hooked, int world_size = 0);
  /// The processes that were told as ranks by a guess which has turned out wrong, each once: also
  /// those that are too many for a world of this size (0: unknown), unless their hook has spoken.
  [[nodiscard]] std::vector<ProcessId> take_withdrawn(int world_size,
                                                      const std::map<ProcessId, Rank>& hooked);

 private:
  void withdraw(const Snapshot& snapshot, std::span<const SeenRank> ranks,
                const std::map<ProcessId, Rank>& hooked);

  struct Told {
    ProcessId process;
    bool guessed = false;
    std::set<Stage> entered;
    std::set<Stage> reached;
  };
  std::map<Rank, Told> told_;
  std::vector<ProcessId> withdrawn_;
};

/// The rank of a process as its environment names it. Every process that a rank starts inherits
/// it; the launcher above the rank, which may have a RANK of its own (a node's number), has
/// another.
struct RankIdentity {
  Rank rank;
  std::optional<int> world_size;
  std::optional<int> local_rank;
  auto operator<=>(const RankIdentity&) const = default;
};

/// RANK, or LOCAL_RANK where Lightning gives its own ranks no other.
[[nodiscard]] std::optional<RankIdentity> identity_in(const Environment& environment);

struct ProcessOfRank {
  ProcessId process;
  std::optional<RankIdentity> identity;
  int store_port = 0;  ///< MASTER_PORT of its environment; 0: not set
};

/// The rank's process, where the first of `line` has spoken: the topmost with the same identity.
/// `line` goes upwards from it, and ends below safelaunch. nullopt: it is no rank's.
[[nodiscard]] std::optional<ProcessId> topmost_of_rank(std::span<const ProcessOfRank> line);

/// A process that has spoken and those above it, up to `root`, which is left out. It may have ended
/// before its words are heard: `parent`, as it told it, then says where it stood (0: it did not
/// tell).
[[nodiscard]] std::vector<ProcessOfRank> line_of(const ProcessOfRank& speaker, int parent,
                                                 ProcessId root, const host::ProcessTable& table);

/// Takes snapshots of the processes below `root`. Reads the environment, the command line and the
/// maps of each process until they have told all they can; threads and sockets each time.
class ProcessObserver {
 public:
  ProcessObserver(const host::ProcessTable& table, const host::SocketTable& sockets)
      : table_(table), sockets_(sockets) {}

  [[nodiscard]] Snapshot look(ProcessId root);

 private:
  struct Known {
    SeenProcess process;
    std::vector<std::string> words;  ///< its command line when it was read
    bool seen_twice = false;         ///< with one command line: it is not on its way to an exec
  };
  static void keep_kind(const Known& before, Known& now);
  [[nodiscard]] Known read_anew(const host::ProcessFacts& facts) const;
  [[nodiscard]] SeenProcess read(const host::ProcessFacts& facts,
                                 const std::vector<std::string>& words) const;
  void look_at_threads(SeenProcess& process) const;
  void look_at_stores(Snapshot& snapshot) const;

  const host::ProcessTable& table_;
  const host::SocketTable& sockets_;
  std::map<ProcessId, Known> known_;
};

}  // namespace safelaunch::watch
