#pragma once

/// How far every rank has come, and when to stop waiting. The heart of the watch.
///
///   spawned   imported   rendezvous   group   communicator   collective   (training)
///
/// Per rank and stage there are three states; the stages of a rank are a set, not a line:
///
///   state      begins with                     ends with
///   ---------  ------------------------------  -----------------------------------------------
///   away       the start of the process        StageEntered: it waits; StageReached: it is through
///   waiting    StageEntered                    StageReached: it is through; RankRaised: it is away
///                                              again; RankExited: it is dead
///   through    StageReached, or a later stage  nothing: news that comes late or twice changes
///              that implies this one           nothing
///
/// The clock of a stage runs while at least one rank waits in it, from the moment when the first of
/// those that wait now began to. It starts neither at spawn nor because another stage is over. A
/// script that imports, tokenises or compiles for an hour starts no clock; with a lazy NCCL nobody
/// ever waits in `group`, so that clock never runs; and where rank 0 hosts the store and waits in
/// `rendezvous` while the others wait in `group`, both clocks run side by side.
///
/// While a clock runs, every rank of the world that is not through is one of:
///
///   it is     it is waited for                    counted from
///   --------  ---------------------------------- -------------------------------------------------
///   dead      not at all; 2.5 s where its status  when it ended, or the clock's start
///             is not known: its launcher may say
///   done      the stage's timeout; before         the clock's start
///             `communicator` not at all
///   stopped   stopped-timeout, also where it had  when it was stopped, or the clock's start
///             entered the stage
///   quiet     quiet-timeout                       when it became quiet, or the clock's start
///   idling    the stage's timeout                 when it last worked, when a rank last came
///                                                 somewhere, or the clock's start
///   working   work-timeout                        the clock's start
///   attended  for ever                            -
///   unseen    work-timeout: it may be at work     the clock's start
///   waiting   the stage's timeout, once           the last news of any rank: what a rank does
///             everybody waits there               inside a collective (NCCL spins) is no progress
///
///   - A rank that is dead or stopped ends the attempt whatever the others do. Otherwise it ends
///     when the last of the missing ranks has used up its time: one that sleeps may well sleep
///     until another one, which works, is done.
///   - From `communicator` on a rank that is through may be missing in the next meeting: some ranks
///     meet in a group, and one of them works before it joins the rest. While it works it is waited
///     for like a missing rank that works, else for the stage's timeout from when it last worked.
///     It is not blamed, and while it works those that wait are not blamed either.
///   - Where a process has a rank beyond the world that was entered, and has entered none itself,
///     the worlds below this launcher may be several: it is waited for like a missing rank.
///   - Where all ranks are stopped somebody has suspended the job. Time stands still then, as it
///     does while safelaunch itself is stopped (JobClock).
///   - A person who has a rank in hand buys time for that rank. What it does afterwards counts from
///     when they let go of it.
///   - Contradictions need no time: WORLD_SIZEs that differ at one store, two live processes that
///     wait there as one rank.
///   - A rank that ends with a failure before the job is training is a verdict of its own, unless
///     the launcher restarts it. One that ends with status 0 is done: it is at fault only of what
///     it had not entered, and may well have no part in what a group of some ranks waits for.
///   - A world of one never gets a verdict, and neither does a job in which nobody waits.
///   - Once every rank is through `collective` the job is training, and nothing here judges it any
///     more: see watch/stall.h. A server starts until it answers requests. If nobody can see a
///     rank's collectives, the rank is assumed to train once it has its group, or some seconds after
///     NCCL has made its communicator.

#include <map>
#include <set>
#include <span>
#include <variant>

#include "safelaunch/base/failure.h"
#include "safelaunch/watch/patience.h"
#include "safelaunch/watch/rank_state.h"

namespace safelaunch::watch {

/// The Pythons of the job that have not said to be a rank, and from which one may come yet.
enum class Nameless {
  none,
  has_started_ranks,  ///< the parent of ranks, as in mp.spawn
  is_left,            ///< one that has said and started nothing
};

/// The effect that a rank's failure has on the launcher that started it.
enum class DeadRank {
  ends_the_job,      ///< torchrun without restarts, deepspeed, accelerate, our own spawn
  hangs_the_others,  ///< an unknown script: it counts once another rank waits for it
  is_restarted,      ///< torchrun --max-restarts: the launcher's business
};

struct StagesConfig {
  /// The number of ranks as the command tells it; the ranks' own word comes first.
  std::optional<int> world_size{};
  std::vector<Rank> expected_here{};  ///< ranks that this node is to start, where that is known
  /// Ranks start on other nodes too, or beside us, where nobody here can see them.
  bool others_start_ranks = false;
  std::optional<int> ranks_here{};  ///< how many ranks this node is to start
  StageLimits limits{};
  DeadRank dead_rank = DeadRank::ends_the_job;
  Duration look_every =
      std::chrono::milliseconds(500);  ///< how often ranks are sampled while one waits
  /// The agent of another node sees all ranks, and judges who is waited for in vain. Here only what
  /// is certain without the others is a verdict: a rank that fails, ranks that contradict each
  /// other.
  bool judged_elsewhere = false;
  /// The launcher starts no rank before so many nodes have come; 0: nothing is known of that.
  int awaited_nodes = 0;
  /// The agents of all those nodes have met, and started their launchers; else none but this node
  /// has shown itself.
  bool nodes_have_met = false;
  bool is_server = false;  ///< its ranks wait for the one that looks for requests
  /// The job is a server, and will say that it answers requests: until then it starts, whatever
  /// collectives its ranks have behind them.
  bool serves = false;
};

/// Other ranks are awaited than before, or they do something else: one line for a log. A terminal
/// shows Stages::status_line() instead, which counts the seconds.
struct StatusChanged {
  std::string text;
};

/// Every rank has its first collective behind it, or the server answers. Comes at most once; no
/// verdict comes after it.
struct JobTraining {};

/// The actions that `Stages` asks of its caller. A Failure is its verdict: the attempt is lost. It
/// falls at most once in the life of a `Stages`.
using StageAction = std::variant<Failure, StatusChanged, JobTraining>;

/// The state of all ranks of one attempt, as a pure machine: events and the present time in,
/// actions out. Its driver
///   - hands in each event with on() and performs what comes back;
///   - sleeps until next_deadline(), then, where wants_samples(), hands in a RankActivity for every
///     rank of sample_these(), and calls tick().
/// Events decide what is certain, ticks decide what has lasted too long.
class Stages {
 public:
  explicit Stages(StagesConfig config);

  [[nodiscard]] std::vector<StageAction> on(const Event& event, TimePoint now);
  /// News that come together are weighed once: of 8192 ranks, each weighing looks at all.
  [[nodiscard]] std::vector<StageAction> on(std::span<const Event> events, TimePoint now);
  [[nodiscard]] std::vector<StageAction> tick(TimePoint now);

  /// The ranks contradict each other, and wait for ever: world_size_mismatch or duplicate_rank in
  /// what they tell NCCL, or different_stores; or there are none (not_started). The text says it in
  /// words.
  [[nodiscard]] std::vector<StageAction> contradict(FailureKind kind, std::string text,
                                                    TimePoint now,
                                                    Certainty certainty = Certainty::confirmed);

  /// The CUDA driver answers nobody, and these ranks stand still in it, in words.
  [[nodiscard]] std::vector<StageAction> driver_is_silent(std::vector<Rank> ranks, std::string text,
                                                          TimePoint now);

  /// All ranks here stand still, none waits for another, and the limit for that is over. Takes what
  /// each does, and all of it in words.
  [[nodiscard]] std::vector<StageAction> stood_still(Duration lasts,
                                                     const std::map<Rank, std::string>& doings,
                                                     std::string text, TimePoint now);

  /// When to call tick() next; nullopt while nothing can come but events: before anybody waits, in
  /// training, and after the verdict.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const { return due_; }

  /// True while what the ranks do matters, so that they are worth sampling.
  [[nodiscard]] bool wants_samples() const { return due_ && !standings_.empty(); }
  [[nodiscard]] std::vector<Rank> sample_these() const;

  /// A rank is waited for that no process has said to be (a fork that sets RANK in its memory,
  /// MPI): any process of the job that is no rank's may be it.
  [[nodiscard]] bool misses_unseen() const;
  /// Takes what those processes do together. Call it with the samples while misses_unseen().
  void others_do(Activity activity, std::string doing, Nameless nameless, TimePoint now);

  /// A rank is waited for that may be in another terminal, or on another host.
  [[nodiscard]] bool waits_for_nobody_seen() const;

  /// A missing rank waits until another process of this host writes to it: one that is in no rank's
  /// tree may be at work for it.
  [[nodiscard]] bool misses_helped(TimePoint now) const;
  /// Takes what those processes do together. Call it with the samples while misses_helped().
  void helpers_do(Activity activity, std::string doing, TimePoint now);

  /// A server of the job answers requests: where the job is one, its start is over.
  [[nodiscard]] std::vector<StageAction> server_is_up(TimePoint now);

  [[nodiscard]] bool training() const { return training_; }
  /// Some rank here has its first collective behind it, and none has failed in its own or is in it
  /// still: the job may have trained, though ranks of other nodes, or those that no collective
  /// needs, are not known to. It must not be started again.
  [[nodiscard]] bool may_have_trained() const;
  [[nodiscard]] const std::optional<Failure>& verdict() const { return verdict_; }

  /// "group 4/4 · collective 2/4 · waiting for ranks 1 3 (working: c++ compiles) 12s/180s".
  [[nodiscard]] std::string status_line(TimePoint now) const;

  /// The clock that the status line shows: how long the ranks have waited, and until when they may.
  struct WaitClock {
    Duration lasts{};
    std::optional<Duration> limit{};  ///< nullopt: for ever
  };
  /// nullopt while no rank waits.
  [[nodiscard]] std::optional<WaitClock> wait_clock(TimePoint now) const;

  /// The ranks that wait at present, as a verdict would name them; nullopt while no rank waits.
  [[nodiscard]] std::optional<Failure> waiting_now(TimePoint now) const;
  /// The same of the wait that this rank is in; nullopt: it waits for nobody.
  [[nodiscard]] std::optional<Failure> wait_of(Rank rank, TimePoint now) const;

  /// "group 4/4 · collective 3/4": how many ranks have reached what.
  [[nodiscard]] std::string counts_text() const;
  [[nodiscard]] const std::map<Rank, RankState>& ranks() const { return ranks_; }
  /// Null: nothing is known of this rank.
  [[nodiscard]] const RankState* find(Rank rank) const {
    const auto found = ranks_.find(rank);
    return found == ranks_.end() ? nullptr : &found->second;
  }
  /// A process works for another rank, in a world below it: it is no rank of this job.
  void give_back(ProcessId process);

  /// Whether a process is in a world beside the one that is judged, under a number of its ranks.
  [[nodiscard]] bool is_elsewhere(ProcessId process) const { return elsewhere_.contains(process); }
  /// As which rank a live process is known.
  [[nodiscard]] std::optional<Rank> rank_of(ProcessId process) const;
  /// A hook speaks for every rank that has not ended.
  [[nodiscard]] bool all_heard() const;
  /// The world that a rank has given to init_process_group; 0: none has.
  [[nodiscard]] int claimed_world() const;
  /// How many ranks there are, as far as is known.
  [[nodiscard]] int world_size() const { return world_size_; }
  /// Whether there are, or may be, more processes than the world has ranks: they make worlds of
  /// their own under the same numbers, and nobody knows yet who belongs to which.
  [[nodiscard]] bool may_be_one_of_several_worlds() const;

 private:
  /// How one stage stands while its clock runs.
  struct Standing {
    Stage stage = Stage::spawned;
    TimePoint since{};
    std::vector<Rank> waiting{};
    std::vector<Rank> missing{};  ///< the ranks that neither wait in the stage nor are through it
    std::vector<Rank> through{};
  };
  /// A live process that has come to the others, or to a world of its own, as a rank that another
  /// one is: the launcher's processes may make several worlds, each with numbers from 0 on.
  struct Elsewhere {
    Rank rank;
    std::string store;
    bool through = false;  ///< it has a collective behind it
  };
  enum class Wording { brief, full };  ///< full: with what each rank does

  [[nodiscard]] bool is_of_another_world(const std::string& store) const;
  void part_worlds();

  // The changes that an event makes. Instants are in job time here and below.
  void apply(const RankStarted& event, TimePoint now);
  void apply(const StageEntered& event, TimePoint now);
  void apply(const StageLeft& event, TimePoint now);
  void apply(const StageReached& event, TimePoint now);
  void apply(const RankPrepares& event, TimePoint now);
  void apply(const RankSilent& event, TimePoint now);
  void apply(const RankRaised& event, TimePoint now);
  void apply(const RankExited& event, TimePoint now);
  void apply(const RankActivity& event, TimePoint now);
  void apply(const RankAttended& event, TimePoint now);
  RankState* claim(Rank rank, ProcessId process, Source source, RankEvidence evidence,
                   TimePoint now);
  void forget_the_dead_beside(Rank rank, TimePoint former_end);
  bool change_places(Rank from, Rank to, RankEvidence evidence);
  [[nodiscard]] RankState* held_by(Rank rank, ProcessId process);

  // The conclusions from those changes.
  void check_contradictions(Rank rank);
  void check_given_twice(Rank rank);
  void check_world_sizes(Rank rank);
  void check_failure(const RankExited& event, TimePoint now);
  void check_certain(TimePoint now);
  void check_overdue(TimePoint now);
  void check_training(TimePoint now);
  void decide(Failure verdict);
  /// When the job is taken to train; nullopt while a rank is not there yet.
  [[nodiscard]] std::optional<TimePoint> trains_at() const;
  [[nodiscard]] TimePoint job_time(TimePoint now);
  [[nodiscard]] std::vector<StageAction> finish(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> earliest_deadline(TimePoint now) const;

  // The clocks.
  [[nodiscard]] const RankState& state_of(Rank rank) const;
  /// A rank that no process has said to be may be one of the job's processes on this node.
  [[nodiscard]] bool may_be_started_by_hand() const;
  [[nodiscard]] bool meet_beyond_this_host() const;
  [[nodiscard]] bool may_be_here(Rank rank) const;
  void take_stock();
  [[nodiscard]] int count_here() const;
  [[nodiscard]] int count_world() const;
  [[nodiscard]] std::set<Rank> awaited_by(const std::vector<Rank>& waiting, Stage stage) const;
  [[nodiscard]] std::optional<Standing> standing(Stage stage) const;
  using Makers = std::map<std::string, const RankState*>;  // of groups, by their names
  [[nodiscard]] Makers makers_among(const std::vector<Rank>& waiting) const;
  [[nodiscard]] bool lacks_one_of(const Makers& makers, Rank rank) const;
  [[nodiscard]] Patience patience(Rank rank, const Standing& standing, TimePoint now) const;
  [[nodiscard]] std::optional<TimePoint> certain_at(const Standing& standing, TimePoint now) const;
  [[nodiscard]] std::optional<TimePoint> overdue_at(const Standing& standing, TimePoint now) const;
  [[nodiscard]] std::vector<Rank> without_world() const;
  [[nodiscard]] std::vector<Rank> suspects(const Standing& standing, TimePoint now) const;
  [[nodiscard]] Patience patience_with_passed(const RankState& rank, const Standing& standing,
                                              TimePoint now) const;
  [[nodiscard]] static TimePoint counts_from(const RankState& rank, const Standing& standing);
  [[nodiscard]] static bool busy(const RankState& rank, TimePoint now);
  [[nodiscard]] bool suspended(TimePoint now) const;

  // The words.
  [[nodiscard]] MissingRank suspect(Rank rank, Stage stage, TimePoint now) const;
  [[nodiscard]] Failure judge(const Standing& standing, TimePoint now) const;
  [[nodiscard]] std::vector<Rank> all_waiting() const;
  [[nodiscard]] std::string waiting_text(TimePoint now, Wording wording) const;

  StagesConfig config_;
  JobClock clock_;
  std::map<Rank, RankState> ranks_;
  std::map<ProcessId, Elsewhere> elsewhere_;
  RankState others_;  // stands for each rank of this node that no process has said to be
  Nameless nameless_here_ = Nameless::none;
  RankState helpers_;  // stands for the processes of this node that are in no rank's tree
  // These follow from ranks_ alone; take_stock() keeps them up to date.
  int world_size_ = 0;
  int seen_here_ = 0;                // processes of this node that have said which rank they are
  std::vector<Standing> standings_;  // the standings whose clock runs, in the order of Stage
  TimePoint progress_{};             // the last news of any rank
  TimePoint arrival_{};              // when a rank last came somewhere for the first time
  bool is_up_ = false;               // the server
  bool training_ = false;
  std::optional<Failure> verdict_;
  std::optional<TimePoint> due_;      // the time of the next tick, in monotonic time
  std::vector<StageAction> actions_;  // the actions of the present call
  std::string status_;                // the status line as last told, in brief
};

}  // namespace safelaunch::watch
