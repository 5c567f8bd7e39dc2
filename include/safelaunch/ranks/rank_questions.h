#pragma once

#include <map>
#include <set>

#include "safelaunch/base/event.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/time.h"
#include "safelaunch/ranks/lock_waits.h"
#include "safelaunch/watch/collectives.h"
#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/rank_state.h"
#include "safelaunch/watch/stall.h"

namespace safelaunch::ranks {

/// The place in its code at which a rank stands.
struct StackSeen {
  std::string where;   ///< its place in the user's code: "train.py:40 main → init_process_group"
  std::string frames;  ///< the frames of all its threads, one a line
  std::optional<watch::ExceptionTold> handled{};  ///< the exception that it is handling
  bool from_outside = false;                      ///< read from its memory: it has not answered
};

/// The answers of the ranks; a rank that gave none is missing here.
struct RankAnswers {
  std::map<Rank, StackSeen> stacks;
  std::map<Rank, watch::RankCollectives> collectives;
  LockWaits locks{};       ///< the locks for which ranks of this node wait
  std::string nameless{};  ///< processes of this node that may yet come as a rank, in words
  std::map<Rank, Activity> silent{};    ///< the other live ranks, and what they seem to do
  std::map<Rank, std::string> hosts{};  ///< of the ranks of other nodes
};

/// How ranks wait until another process has built an extension of torch's: up to torch 2.13 until
/// the lock's file is gone, whoever left it; later until the kernel gives them the lock.
enum class BuildWait { none, until_the_lock_is_gone, until_the_lock_is_free };

/// A rank's process that is worth asking.
struct AskedRank {
  Rank rank;
  ProcessId process;
  bool operator==(const AskedRank&) const = default;
};

/// The ranks that a question is for.
enum class Whom {
  all,  ///< also one in the middle of an import, which may never end
  /// Those that have imported torch or JAX: their hooks answer at once, and a signal that follows
  /// the question does not meet an import that it has slowed down.
  imported,
};

/// Only a process that runs can answer.
[[nodiscard]] std::vector<AskedRank> who_can_answer(const std::map<Rank, watch::RankState>& ranks,
                                                    TimePoint now, Whom whom = Whom::all);

/// The questions of one round, and the answers to them. An answer to a question that is not open
/// says nothing: a hook may be anybody's program. Pure.
class RankQuestions {
 public:
  RankQuestions() = default;
  /// `calls` are known already, and stand beside the answers of their ranks.
  explicit RankQuestions(const std::map<Rank, watch::FirstCall>& calls);

  /// A question was sent.
  void open(const AskedRank& to, watch::HookQuestion question);

  /// The rank whose answer this is; nullopt where nobody has asked for it.
  std::optional<Rank> answered(ProcessId process, const watch::StackAnswer& answer);
  std::optional<Rank> answered(ProcessId process, const watch::CountersAnswer& answer);
  std::optional<Rank> answered(ProcessId process, const watch::CollectivesAnswer& answer);
  /// The stack of a rank that does not answer was read from outside.
  void was_read(Rank rank, const watch::PythonThread& main_thread);

  [[nodiscard]] bool all_answered() const { return asked_.empty(); }
  [[nodiscard]] const RankAnswers& answers() const { return answers_; }

 private:
  struct Asked {
    Rank rank;
    std::set<watch::HookQuestion> open;
  };
  std::optional<Rank> close(ProcessId process, watch::HookQuestion question);

  std::map<ProcessId, Asked> asked_;
  RankAnswers answers_;
};

/// The answers of all nodes to one question: those of our own ranks, and those of every other node
/// that is heard. Pure.
class AnswersOfNodes {
 public:
  /// A question was asked of our ranks and of these nodes. The answers to the previous question
  /// stay available until the first answer to this one arrives.
  void begin(std::set<int> nodes);
  /// Grows with each question.
  [[nodiscard]] int question() const { return question_; }

  /// These return true where nobody is left to answer.
  [[nodiscard]] bool take_own(const RankAnswers& answers);
  [[nodiscard]] bool take(int seat, const std::string& host, const RankAnswers& answers);
  /// The nodes that have not answered are waited for no longer.
  void close();

  [[nodiscard]] const RankAnswers& answers() const { return answers_; }

 private:
  void forget_former();

  std::set<int> open_;
  bool own_open_ = false;
  bool former_ = false;  ///< `answers_` are still those to the question before
  int question_ = 0;
  RankAnswers answers_;
};

/// The exceptions that ranks handle while they wait, and that nobody sees before these waits end:
/// each goes on to its caller, as from a `finally`. None that all ranks handle alike, since a
/// program may well run from within an `except`.
[[nodiscard]] std::vector<watch::ExceptionTold> held_back(const RankAnswers& answers);

/// "KeyError: 'labels' in train.py:18 load".
[[nodiscard]] std::string in_words(const RankRaised& raised);

/// "rank 1 raised KeyError: 'labels' in train.py:18 load, and waits before anybody sees it".
[[nodiscard]] std::string describe_held_back(const watch::ExceptionTold& told);

/// "rank 0 has waited 12s in group for rank 1 (idling: sleeping in hrtimer_nanosleep), which is in
/// train.py:50 never_reaches_init": for whoever ends a job that waits.
[[nodiscard]] std::string who_waits_for_whom(const Failure& waiting, const RankAnswers& answers);

/// "rank 1 in train.py:48 load_data; ranks 0 2 3 in train.py:31 main → all_reduce": the places of
/// all ranks that answered, the loneliest first; empty where none did.
[[nodiscard]] std::string where_ranks_stand(const RankAnswers& answers);

/// Adds where a missing rank was when it was asked.
void put_place(const RankAnswers& answers, MissingRank& missing);

/// A standstill of the training as ranks answer who are about to end. `lagging` are those that have
/// begun fewer collectives than others; none where some rank is seen to wait in a collective: who
/// has come to that is not behind, however far others ran ahead. (gloo counts a collective that
/// failed as finished, and then none is seen.)
[[nodiscard]] watch::StallReport stall_as_answered(const RankAnswers& answers, Duration silent_for);

/// Makes a verdict of a standstill of the training and the answers of its ranks: which ranks wait
/// in which collective, which never called it, and where each of those is in its code.
[[nodiscard]] Failure verdict_of(watch::StallReport report, const RankAnswers& answers);

}  // namespace safelaunch::ranks
