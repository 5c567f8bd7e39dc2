#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "safelaunch/base/process.h"

namespace safelaunch {

/// The global number of one training process (torch's RANK).
struct Rank {
  int value = 0;
  auto operator<=>(const Rank&) const = default;
};

/// More ranks on one node than this are a mistake.
inline constexpr int kMostRanksOfANode = 4096;

/// How far a rank has come. A rank's stages are a set, not a line: with `device_id`, and always
/// from torch 2.15 on, `communicator` comes before `group`. See docs/stages.md.
enum class Stage { spawned, imported, rendezvous, group, communicator, collective };
inline constexpr int kStageCount = 6;

[[nodiscard]] const char* name(Stage stage);
/// Reads it back; nullopt for a word that is no stage.
[[nodiscard]] std::optional<Stage> stage_named(std::string_view word);

/// The origin of a piece of knowledge. It is shown with it, since it says how sure we are.
enum class Source {
  hook,      ///< the Python hook said it
  proc,      ///< read off /proc and the socket table
  launch,    ///< we spawned it ourselves
  nccl_log,  ///< NCCL's own log
  plugin,    ///< our profiler plugin, which NCCL loads
};

/// The activity of a rank for which others wait, over its whole process tree (docs/stages.md).
enum class Activity {
  dead,     ///< its process has ended
  stopped,  ///< state T, or frozen
  quiet,    ///< blocked until one of its own threads or children acts, and they are all blocked too
  idling,   ///< a timed sleep, a lock, a connection, a retry loop, D state: no real CPU or io
  working,  ///< CPU, io, bytes on sockets, compilers among its children
  attended,  ///< a person has it in hand: at a prompt on a terminal, or in a debugger
  unseen,    ///< it may not be looked at: another user's, or no /proc
};

[[nodiscard]] const char* name(Activity activity);
/// The activity of that name; any other word is none that was seen.
[[nodiscard]] Activity activity_named(std::string_view word);

/// A process was found to be a rank. The event comes again when more is known of the process.
struct RankStarted {
  Rank rank;
  ProcessId process;
  std::optional<int> world_size;
  Source source = Source::launch;
  bool anew = false;  ///< an interpreter has just started in the process, which may be older (exec)
  /// The topmost process with that rank, where it is another process: a wrapper (`sh run.sh`).
  std::optional<ProcessId> wrapper{};
};

/// A rank has begun to wait for a stage (it called init_process_group, its first all_reduce, …).
struct StageEntered {
  Rank rank;
  ProcessId process;
  Stage stage = Stage::spawned;
  std::string detail;  ///< the operation ("allreduce_"), the address of the store, …
  std::optional<int> world_size;
  Source source = Source::hook;
  std::vector<Rank> awaits{};  ///< the ranks that it waits for; empty: all ranks of the world
  std::string
      meets{};  ///< where the ranks of its world meet: "host:port", "file:PATH"; empty: unknown
};

/// A rank waits no longer, and yet the stage is not completed: the rank has made one group of
/// several; or its device has other things to do before the rank can meet anybody.
struct StageLeft {
  Rank rank;
  ProcessId process;
  Stage stage = Stage::spawned;
  bool device_works = false;
};

/// NCCL has begun in a rank, and does not wait for the others before the rank enters
/// `communicator`.
struct RankPrepares {
  Rank rank;
  ProcessId process;
};

/// The hook of a live process has fallen silent: the program has closed its connection.
struct RankSilent {
  Rank rank;
  ProcessId process;
};

/// A rank has completed a stage.
struct StageReached {
  Rank rank;
  ProcessId process;
  Stage stage = Stage::spawned;
  Source source = Source::hook;
};

/// A Python exception that nobody caught has ended, or is ending, a rank; or one of its collectives
/// raised.
struct RankRaised {
  Rank rank;
  ProcessId process;
  std::string type;  ///< "torch.distributed.DistNetworkError"
  std::string message;
  /// The traceback as Python prints it; may be cut; empty: the script may catch it.
  std::string traceback;
  bool communication = false;  ///< the hook says that it came from torch.distributed, NCCL, JAX, …
  bool after_a_kill = false;   ///< a signal had ended another rank before
  std::string where{};  ///< the place in the user's code: "train.py:18 load → all_reduce"; or empty
};

/// A rank waits until a person comes to it (an editor's debugger is to connect), as it says itself;
/// or that is over.
struct RankAttended {
  Rank rank;
  ProcessId process;
  std::string doing;  ///< "waits for a debugger on port 5678"; empty: it goes on
};

/// A rank's process is gone. Its status is unknown where another process was its parent and the
/// kernel does not tell (before Linux 6.15).
struct RankExited {
  Rank rank;
  ProcessId process;
  std::optional<ExitStatus> status;
};

/// One sample of what a rank does.
struct RankActivity {
  Rank rank;
  ProcessId process;
  Activity activity = Activity::unseen;
  std::string doing;  ///< "sleeping in hrtimer_nanosleep", "c++ compiles in a child (pid 71)"
  bool awaits_local = false;  ///< it idles until another process of this host writes to it
  bool awaits_input = false;  ///< it idles until somebody writes to the job's standard input
};

/// The events of a job, as values. State machines take these and the present time, nothing else.
using Event = std::variant<RankStarted, StageEntered, StageLeft, StageReached, RankPrepares,
                           RankSilent, RankRaised, RankExited, RankActivity, RankAttended>;

}  // namespace safelaunch
