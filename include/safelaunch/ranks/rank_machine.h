#pragma once

#include <map>
#include <set>
#include <span>

#include "safelaunch/base/event.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/process.h"
#include "safelaunch/ranks/rank_events.h"
#include "safelaunch/ranks/ranks_seen.h"
#include "safelaunch/ranks/worlds.h"
#include "safelaunch/watch/observer.h"
#include "safelaunch/watch/stages.h"

namespace safelaunch::ranks {

/// The settings on which the decisions of the watch depend.
struct RankRules {
  watch::StagesConfig stages;
  bool hook = false;  ///< the ranks are given a hook
  /// The identity of a rank that safelaunch itself was given, and the whole job inherits.
  std::optional<watch::RankIdentity> outer{};
};

/// Knows which process speaks for which rank, and decides what its words, its end and a look at
/// /proc mean: the events for `Stages`, the looks and their times, the questions to ranks, and the
/// lines for the user. `RankWatch` performs it. Pure: the time is handed in.
///
/// A look goes in steps, each of which decides the next: TakeLook (where a rank has no hook) →
/// SampleRanks (while somebody waits) → SampleOthers (where a missing rank may be, or be helped by,
/// another process) → judgement.
class RankMachine {
 public:
  explicit RankMachine(RankRules rules)
      : rules_(std::move(rules)), stages_(rules_.stages), worlds_(rules_.outer) {}

  [[nodiscard]] std::vector<WatchAction> on(const WatchEvent& event, TimePoint now);

  /// When WatchTimePassed is to come; nullopt while there is nothing to look for.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  /// Whether a message can be understood only with the processes above the one that sent it.
  [[nodiscard]] bool wants_line(ProcessId process, const watch::HookMessage& message) const;
  /// The parent of a process, as the process told it; 0: it has not.
  [[nodiscard]] int parent_of(ProcessId process) const {
    const auto known = parents_.find(process);
    return known == parents_.end() ? 0 : known->second;
  }

  [[nodiscard]] bool frozen() const { return frozen_; }
  /// Whether the ranks are judged: no verdict has fallen, and the training has not begun.
  [[nodiscard]] bool judging() const {
    return !frozen_ && !stages_.verdict() && !stages_.training();
  }
  [[nodiscard]] const watch::Stages& stages() const { return stages_; }
  /// Some rank has a collective behind it, in the launcher's world or in one below a rank: the job
  /// must not be started again.
  [[nodiscard]] bool may_have_trained() const {
    return stages_.training() || stages_.may_have_trained() || worlds_.trained();
  }
  /// The other nodes whose agents are heard.
  [[nodiscard]] std::set<int> nodes_heard() const;
  [[nodiscard]] const RanksSeen& seen() const { return seen_; }
  [[nodiscard]] const std::map<ProcessId, Rank>& hooked() const { return hooked_; }
  [[nodiscard]] const std::map<ProcessId, Rank>& plugged() const { return plugged_; }

 private:
  void take(const WatchBegins& event, TimePoint now);
  void take(const RankSpawned& event, TimePoint now);
  void take(const ProcessEnded& event, TimePoint now);
  void take(const HookSpoke& event, TimePoint now);
  void take(const HookClosed& event, TimePoint now);
  void take(const HookFlooded& event, TimePoint now);
  void take(const WatchdogSpoke&, TimePoint now) { give_up(std::nullopt, now); }
  void take(const NcclTold& event, TimePoint now);
  void take(const nccl::Contradiction& event, TimePoint now);
  void take(const NcclSpoke& event, TimePoint) {
    if (!frozen_) actions_.push_back(event);
  }
  void take(const LookTaken& event, TimePoint now);
  void take(const RanksSampled& event, TimePoint now);
  void take(const OthersSampled& event, TimePoint now);
  void take(const AnotherUserRuns& event, TimePoint now);
  void take(const DriverSilent& event, TimePoint now) {
    if (judging()) follow(stages_.driver_is_silent(event.ranks, event.text, now));
  }
  void take(const AllStandStill& event, TimePoint now);
  void take(const PlacesTold& event, TimePoint now);
  void take(const NodeSpoke& event, TimePoint now);
  void take(const NodeHeard& event, TimePoint now);
  void take(const LeaderWatches& event, TimePoint now);
  void take(const StacksWanted& event, TimePoint now);
  void take(const WatchTimePassed& event, TimePoint now);
  void take(const WatchFreezes&, TimePoint) { frozen_ = true; }

  // The events that `Stages` takes, and the actions that it asks for.
  void feed(const Event& event, TimePoint now) { feed(std::span(&event, 1), now); }
  void feed(std::span<const Event> events, TimePoint now);
  void follow(const std::vector<watch::StageAction>& wanted);
  void perform(const Failure& verdict);
  void perform(const watch::StatusChanged& status) { status_.text = status.text; }
  void perform(const watch::JobTraining&) { actions_.push_back(BeginTraining{}); }

  // The words of a hook.
  void note_finished(ProcessId process, const watch::HookMessage& message);
  void hear(const Event& event, const HookSpoke& from, TimePoint now);
  void hear_of_rank(Event event, const HookSpoke& from, TimePoint now);
  void note_what_it_names(const Event& event);
  void hear_body(ProcessId process, const watch::HookMessage& message, TimePoint now);
  void hear_raised(RankRaised& raised, TimePoint now);
  [[nodiscard]] bool follows_a_kill(const RankRaised& raised) const;
  void take_back_guesses();
  void hear_raised_unnamed(ProcessId process, RankRaised raised, TimePoint now);
  void give_up(std::optional<Rank> rank, TimePoint now);
  [[nodiscard]] bool stays_at_its_store(Rank rank) const;
  [[nodiscard]] bool knock_elsewhere(const Failure& verdict) const;
  void check_stores(TimePoint now);
  void check_launcher(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> launcher_waits_until() const;
  void note_deed(Rank rank, const watch::HookMessage& message, TimePoint now);
  [[nodiscard]] bool is_on_device(ProcessId process, const Event& event);
  void follow_device(ProcessId process, std::span<const Event> events, TimePoint now);
  void leave_device(ProcessId process, TimePoint now);
  void record_stage(const StageReached& reached);
  void forget_former_life(Rank rank, ProcessId process);

  // The ranks of other nodes.
  void weigh_other_nodes(TimePoint now);

  // Processes and their ends.
  void note_process(Rank rank, ProcessId process);
  void watch_exit(Rank rank, ProcessId process);
  void end_late(const RankExited& end);
  [[nodiscard]] bool is_helper(const RankRaised& raised) const;
  [[nodiscard]] bool is_rank(Rank rank, ProcessId process) const {
    const watch::RankState* state = stages_.find(rank);
    return state && state->process() == process;
  }
  [[nodiscard]] bool all_ranks_have_gone() const;

  // The looks, in their order.
  void look_again(TimePoint now);
  void look(TimePoint now);
  void sample(TimePoint now);
  void ask_whether_it_hears(ProcessId process, TimePoint now);
  void sample_others(TimePoint now);
  void judge(TimePoint now);
  void show_waiting(TimePoint now);
  void record_status(TimePoint now);
  [[nodiscard]] bool half_is_over(TimePoint now);
  void tell_of_questions(TimePoint now);

  void tell(const std::string& text);

  RankRules rules_;
  watch::Stages stages_;
  Worlds worlds_;
  watch::Observer ranks_in_proc_;
  RanksSeen seen_;
  std::map<ProcessId, Rank> hooked_;
  std::map<ProcessId, Rank> plugged_;  // the rank of each process as NCCL's plugin says
  NamedRanks named_;
  // When each process was last asked whether its hook hears.
  std::map<ProcessId, TimePoint> asked_at_;
  std::set<ProcessId> failing_;   // processes that an uncaught exception is ending
  std::set<ProcessId> in_torch_;  // processes whose hook has seen them call torch.distributed
  // Processes whose first kernel NCCL's plugin has seen begin, and not end; with the end of the
  // collective that their hooks have told meanwhile.
  std::map<ProcessId, std::optional<StageReached>> on_device_;
  std::map<ProcessId, int> parents_;  // the parent that each process has told of itself
  std::set<ProcessId> silent_;   // processes whose hook's connection is closed: they may have ended
  std::set<ProcessId> spawned_;  // processes that are our own children
  // Processes that are not our children, but whose end will be told to us.
  std::set<ProcessId> watched_;
  std::set<ProcessId> ended_late_;  // processes that ended while the job was stopped
  struct Node {
    NodeName name;
    std::vector<RankPicture> ranks;
    bool heard = true;
  };
  std::map<int, Node> nodes_;     // the other nodes, by seat
  std::vector<Event> unweighed_;  // news of other nodes, in the order in which they came
  // The next weighing of that news does not come before this time.
  std::optional<TimePoint> weigh_at_;
  bool leader_watches_ = false;
  // The last sample for the leader, while nobody waits here.
  std::optional<TimePoint> shown_to_leader_;
  std::optional<AllStandStill> standstill_;  // the standstill about which the ranks are being asked
  std::optional<TimePoint> gave_up_at_;      // when a rank last gave up a wait
  bool frozen_ = false;
  bool flood_told_ = false;
  bool another_user_told_ = false;
  TimePoint begun_{};
  std::optional<TimePoint> next_look_;  // the next look for ranks without a hook
  struct {
    std::string text;  ///< not recorded yet; empty: none
    TimePoint next{};  ///< when the next one may be recorded
    int recorded = 0;
  } status_;
  std::optional<TimePoint> waiting_since_;
  // Since when a child of each rank has asked at the terminal; nullopt: that was told.
  std::map<Rank, std::optional<TimePoint>> asks_since_;
  TimePoint noticed_at_{};
  // The deadline that runs, and when it was set, both counted from the beginning of the wait.
  struct {
    Duration limit{};
    Duration set_at{};
  } deadline_;
  std::vector<WatchAction> actions_;  // the actions of the present call
};

}  // namespace safelaunch::ranks
