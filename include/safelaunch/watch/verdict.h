#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"

namespace safelaunch {

/// A rank that others wait for, as it was when the verdict fell.
struct Suspect {
  Rank rank{};
  std::optional<ProcessId> process{};  ///< none: it was never seen
  Stage furthest = Stage::spawned;     ///< the last stage it reached
  bool inside = false;  ///< it entered the stage of the verdict and did not come through
  Activity activity = Activity::unseen;
  std::string doing{};                 ///< "sleeping in hrtimer_nanosleep", "exit status 3"
  Duration waited_for{};               ///< how long the others have waited
  std::optional<ExitStatus> status{};  ///< where it has ended and the status is known
};

/// The end of an attempt, before it was training: what is wrong, where, and who is to blame as far
/// as can be seen. It falls at most once in the life of a `Stages`.
struct Verdict {
  enum class Kind {
    hung,                 ///< ranks wait in `stage` for others that do not come
    rank_died,            ///< a rank ended with a failure, or it is not known how
    raised,               ///< a rank ended with an exception, which is at hand
    world_size_mismatch,  ///< ranks that meet at one store gave different WORLD_SIZEs
    duplicate_rank,       ///< two live processes wait as the same rank
    stood_still,          ///< all ranks, for `timeouts: start`, before any waited for another
    driver_silent,        ///< ranks wait in the CUDA driver, which answers nobody
    stalled,              ///< it trained, and then stood still; `Stages` never says so
  };
  enum class Certainty {
    certain,  ///< dead, stopped or contradicting: waiting longer cannot help
    overdue,  ///< a deadline has passed; the rank may still have come
  };

  Kind kind = Kind::hung;
  Certainty certainty = Certainty::overdue;
  Stage stage = Stage::spawned;
  std::vector<Rank> waiting{};       ///< ranks that wait, not to blame
  std::vector<Suspect> suspects{};   ///< missing, or stuck behind the others; empty: all wait alike
  Source source = Source::hook;      ///< the weakest source that it rests on
  std::vector<std::string> texts{};  ///< further evidence: an exception, the two WORLD_SIZEs
  std::string nccl{};                ///< what NCCL's log adds: "rank 1 of 3 never came to NCCL"
};

[[nodiscard]] const char* name(Verdict::Kind kind);

/// Nothing of the job has failed: it stands still, or would for want of an agreement. Whatever it
/// says after the verdict is about our stopping it.
[[nodiscard]] bool is_stuck(const Verdict& verdict);

/// The verdict in one sentence: "hung in group: rank 2 is missing (idling: sleeping in
/// hrtimer_nanosleep) while ranks 0 1 3 wait for 180s".
[[nodiscard]] std::string describe(const Verdict& verdict);

/// Which ranks are awaited, or what they do, has changed: for a log, one line a change. A terminal
/// shows Stages::status_line() instead, which counts the seconds.
struct StatusChanged {
  std::string text;
};

/// Every rank has its first collective behind it. Comes at most once; no verdict comes after it.
struct JobTraining {
  /// `proc` where ranks without a hook were only seen to have their group: whether they train
  /// cannot be known then, and is assumed.
  Source source = Source::hook;
};

/// What `Stages` asks of its caller.
using StageAction = std::variant<Verdict, StatusChanged, JobTraining>;

}  // namespace safelaunch
