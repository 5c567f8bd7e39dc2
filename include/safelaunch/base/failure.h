#pragma once

#include "safelaunch/base/event.h"
#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"

/// One vocabulary for an attempt that failed, from the watch to the page.
namespace safelaunch {

/// How an attempt ended that did not complete.
enum class FailureKind {
  failed,               ///< the command ended by itself, with a status other than 0
  rank_died,            ///< a rank ended with a failure, or with a status that nobody knows
  raised,               ///< a rank ended with an exception, which we have
  world_size_mismatch,  ///< ranks that meet at one store gave different WORLD_SIZEs
  different_stores,     ///< every rank waits at a store, and they are not the same
  duplicate_rank,       ///< two live processes wait as the same rank
  not_started,          ///< the launcher waits for other nodes, and has started no rank
  hung,                 ///< ranks wait in a stage for others that do not come
  stood_still,    ///< all ranks stood still, for `timeouts: start`, before any waited for another
  driver_silent,  ///< ranks wait in the CUDA driver, which answers nobody
  stalled,        ///< it trained, and then stood still until safelaunch ended it
  interrupted,    ///< a signal to safelaunch ended it
  given_up,       ///< safelaunch ended it before it had failed: a probe showed that it would
};

/// The word of the record: "rank_died".
[[nodiscard]] const char* name(FailureKind kind);
/// Reads it back; nullopt for a word of another version.
[[nodiscard]] std::optional<FailureKind> failure_kind_named(std::string_view word);

/// Whether ranks stood still before the first collective was over.
[[nodiscard]] bool is_hang(FailureKind kind);
/// Whether a rank ended badly, and the watch has seen it.
[[nodiscard]] bool is_death(FailureKind kind);
/// Whether nothing of the job has failed: it stands still, or it would because its ranks do not
/// agree. Everything that the job says after such a verdict is about our stopping it.
[[nodiscard]] bool is_stuck(FailureKind kind);

/// How sure a statement on a failure is. It is shown with the statement.
enum class Certainty {
  guess,      ///< it fits, and nothing shows it; a rank that is overdue might still have come
  matched,    ///< a line shows it
  confirmed,  ///< the state of the system shows it; waiting longer cannot help
};

[[nodiscard]] const char* name(Certainty certainty);
/// Reads it back; a guess where the word is none of ours.
[[nodiscard]] Certainty certainty_named(std::string_view word);

/// Whether it is the end of a wait for other ranks, by a timeout of torch's, gloo's or JAX's.
[[nodiscard]] bool is_timeout(const RankRaised& raised);

/// How MissingRank::doing begins for a rank that no process has said to be.
inline constexpr std::string_view kNeverSeen = "never seen";

/// A rank for which others wait, or which is stuck among them, and its place in the program.
struct MissingRank {
  Rank rank;
  Activity activity = Activity::unseen;
  std::string doing{};  ///< "sleeping in hrtimer_nanosleep", "exit status 3"
  std::string where{};  ///< the Python function it is in: "load_data (train.py:12)"
  bool inside = false;  ///< it had entered the stage, and did not complete it
  std::string stack{};  ///< its Python frames, one a line
  /// A process has said that it is this rank; else `doing` tells of processes that may become it.
  bool known = true;
  std::optional<ExitStatus> status{};  ///< set once it has ended and its status is known
};

/// Of a rank's stack, as MissingRank has it, the innermost frame of its main thread.
[[nodiscard]] std::string_view innermost_frame(std::string_view stack);

/// Their numbers alone, in the same order.
[[nodiscard]] std::vector<Rank> ranks_of(const std::vector<MissingRank>& missing);

/// One attempt's failure, carried whole. The watch makes it, the run adds the deeds of the ranks,
/// the diagnosis adds the cause and the rank that failed first, the report shows and stores it. A
/// field that nobody has filled yet is empty.
struct Failure {
  FailureKind kind = FailureKind::failed;
  /// How sure the verdict is; once there is a cause, how sure the cause is.
  Certainty certainty = Certainty::guess;

  // Seen by the watch.
  std::optional<Stage> stage{};  ///< the stage that ranks waited for, or before which a rank failed
  std::vector<Rank> waiting{};   ///< the ranks that wait and are not to blame
  /// The ranks that are missing, or stuck behind the others; empty: all wait alike.
  std::vector<MissingRank> missing{};
  Duration waited{};       ///< how long the others waited for the missing; 0: nobody is missing
  bool timed_out = false;  ///< a rank gave up the wait by a timeout of its own: it ended the job
  std::string proof{};     ///< the evidence in words: the two WORLD_SIZEs, the places of all ranks
  std::string nccl{};      ///< the word of NCCL's log: "rank 1 of 3 never came to NCCL"

  // Done by the ranks, in order of time.
  std::vector<RankRaised> raised{};
  std::vector<RankExited> ended{};  ///< the ranks that ended before safelaunch stopped the rest

  // Found by the diagnosis.
  std::optional<Rank> first{};  ///< the rank that failed first
  std::vector<Rank> victims{};  ///< ranks that failed because another had
  std::string cause{};          ///< the cause's id in the catalogue; empty: not diagnosed
  std::string title{};          ///< the cause in plain words
  std::string headline{};  ///< what happened, in a line of the screen: "rank 1 never joined …"
  /// The places in the program where missing ranks stand: "train.py:12 in load_data:  sleep(9)".
  std::vector<std::string> places{};
  std::string details{};  ///< one or two sentences more than headline and places say
  /// One or two sentences on the ranks that waited and those that were missing.
  std::string explanation{};
  std::vector<std::string> lines{};  ///< the lines that show the cause, the best first
  std::string remedy{};              ///< the advice to a person
  /// Another attempt may avoid it, since it is not the script's own fault.
  bool communication = false;
};

/// The watch's view in one sentence: "hung in group: rank 2 is missing (idling: sleeping in
/// hrtimer_nanosleep) while ranks 0 1 3 wait for 180s".
[[nodiscard]] std::string describe(const Failure& failure);

}  // namespace safelaunch
