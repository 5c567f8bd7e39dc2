#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/exit_status.h"
#include "safelaunch/base/time.h"

/// One vocabulary for an attempt that failed, from the watch to the page.
namespace safelaunch {

/// How an attempt ended that did not complete.
enum class FailureKind {
  failed,               ///< the command ended by itself, with a status other than 0
  rank_died,            ///< a rank ended with a failure, or it is not known how
  raised,               ///< a rank ended with an exception, which is at hand
  world_size_mismatch,  ///< ranks that meet at one store gave different WORLD_SIZEs
  duplicate_rank,       ///< two live processes wait as the same rank
  hung,                 ///< ranks wait in a stage for others that do not come
  stood_still,          ///< all ranks, for `timeouts: start`, before any waited for another
  driver_silent,        ///< ranks wait in the CUDA driver, which answers nobody
  stalled,              ///< it trained, and then stood still until safelaunch ended it
  interrupted,          ///< a signal to safelaunch ended it
  given_up,             ///< safelaunch ended it before it had failed: a probe showed that it would
};

/// "rank_died", as the record has it.
[[nodiscard]] const char* name(FailureKind kind);
/// Reads it back; nullopt for a word of another version.
[[nodiscard]] std::optional<FailureKind> failure_kind_named(std::string_view word);

/// Ranks stood still before the first collective was over.
[[nodiscard]] bool is_hang(FailureKind kind);
/// A rank ended badly, and the watch has seen it.
[[nodiscard]] bool is_death(FailureKind kind);
/// Nothing of the job has failed: it stands still, or would for want of an agreement. Whatever it
/// says after such a verdict is about our stopping it.
[[nodiscard]] bool is_stuck(FailureKind kind);

/// How sure safelaunch is of what it says of a failure; shown with it.
enum class Certainty {
  guess,      ///< it fits, nothing shows it; of a rank that is overdue: it may still have come
  matched,    ///< a line shows it
  confirmed,  ///< the state of the system shows it; waiting longer cannot help
};

[[nodiscard]] const char* name(Certainty certainty);
/// Reads it back; a guess where the word is none of ours.
[[nodiscard]] Certainty certainty_named(std::string_view word);

/// A rank that others wait for, or that sticks among them, and where it stands.
struct MissingRank {
  Rank rank;
  Activity activity = Activity::unseen;
  std::string doing{};  ///< "sleeping in hrtimer_nanosleep", "exit status 3"
  std::string where{};  ///< its Python function: "load_data (train.py:12)"
  bool inside = false;  ///< it had come to the stage, and did not come through
  std::string stack{};  ///< its Python frames, one a line
  bool known = true;    ///< a process has said to be it; else `doing` is what others may do for it
  std::optional<ExitStatus> status{};  ///< where it has ended and the status is known
};

/// Their numbers alone, in the same order.
[[nodiscard]] std::vector<Rank> ranks_of(const std::vector<MissingRank>& missing);

/// One attempt's failure, carried whole. The watch makes it, the run adds what the ranks did, the
/// diagnosis why it failed and who was first; the report shows and stores it. What nobody has found
/// out yet is empty.
struct Failure {
  FailureKind kind = FailureKind::failed;
  Certainty certainty = Certainty::guess;  ///< of the verdict, and of the cause once there is one

  // What the watch saw.
  std::optional<Stage> stage{};        ///< that was waited for, or before which a rank failed
  std::vector<Rank> waiting{};         ///< ranks that wait, not to blame
  std::vector<MissingRank> missing{};  ///< or stuck behind the others; empty: all wait alike
  Duration waited{};                   ///< by the others for the missing; 0: nobody is missing
  std::string proof{};                 ///< in words: the two WORLD_SIZEs, where all ranks stand
  std::string nccl{};                  ///< what NCCL's log adds: "rank 1 of 3 never came to NCCL"

  // What the ranks did, in order of time.
  std::vector<RankRaised> raised{};
  std::vector<RankExited> ended{};  ///< before safelaunch stopped the rest

  // What the diagnosis makes of it.
  std::optional<Rank> first{};       ///< the rank that failed first
  std::vector<Rank> victims{};       ///< ranks that failed because another had
  std::string cause{};               ///< id in the catalogue; empty: not diagnosed
  std::string title{};               ///< of the cause, in plain words
  std::string explanation{};         ///< one or two sentences: who waited, who was missing, …
  std::vector<std::string> lines{};  ///< that show the cause, the best first
  std::string remedy{};              ///< what a person can do about it
  bool communication = false;        ///< not the script's own: another attempt may go round it
};

/// What the watch saw, in one sentence: "hung in group: rank 2 is missing (idling: sleeping in
/// hrtimer_nanosleep) while ranks 0 1 3 wait for 180s".
[[nodiscard]] std::string describe(const Failure& failure);

}  // namespace safelaunch
