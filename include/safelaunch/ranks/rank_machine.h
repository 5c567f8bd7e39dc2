#pragma once

#include <map>
#include <set>
#include <span>
#include <variant>

#include "safelaunch/base/event.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/process.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/nccl/job.h"
#include "safelaunch/ranks/node_ranks.h"
#include "safelaunch/ranks/rank_questions.h"
#include "safelaunch/ranks/ranks_tell.h"
#include "safelaunch/ranks/worlds.h"
#include "safelaunch/report/record.h"
#include "safelaunch/stacks/question.h"
#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/observer.h"
#include "safelaunch/watch/stages.h"
#include "safelaunch/watch/standstill.h"

namespace safelaunch::ranks {

/// The news of the ranks that goes into an attempt's record. It is bounded: a process of the job
/// cannot make safelaunch remember ever more, however much it says.
struct RanksSeen {
  int world_size = 0;             ///< the number of ranks in the job; 0: no rank was seen
  bool began = false;             ///< some rank has come to torch, JAX or NCCL
  bool heard = false;             ///< the hook of some rank has spoken
  std::map<int, Rank> pids;       ///< the processes that were seen as ranks, and their wrappers
  std::vector<RankExited> exits;  ///< the ends of ranks, in order, until the attempt was stopped
  std::vector<RankExited> late_exits;  ///< the ends of ranks, in order, while it was being stopped
  std::vector<RankRaised> raised;      ///< the exceptions of ranks, in order
  /// Where ranks were in their collectives when an exception of communication ended them.
  std::map<Rank, watch::RankCollectives> came_to;
  /// The first exceptions that ended processes which had not come as a rank: their rank is 0.
  std::vector<RankRaised> raised_nameless;
  std::vector<RankRaised> raised_before;  ///< those of the life before, where a launcher restarted
  RankAnswers answers;                    ///< the ranks' answers to the questions after the verdict
  std::map<Rank, std::string> stores;     ///< "host:port" of the store that a rank was given last
  std::map<Rank, std::string> knocking;   ///< "host:port" of the store that a rank cannot get into
  std::optional<watch::InitFile> init_file{};
  TimePoint init_file_written{};   ///< before the first rank came, at the earliest
  std::set<std::string> backends;  ///< the backends that the ranks gave to init_process_group
  std::map<Rank, watch::FirstCall> calls;  ///< the last call of each rank that its hook has told
  watch::GroupsOfRanks groups;             ///< the groups that ranks make by new_group
  /// The last exception that has ended a thread of a rank, and the last child of it that died.
  std::map<Rank, RankRaised> threads_raised;
  std::map<Rank, watch::HookChildDied> children_died;
  std::set<Rank> finished;  ///< the ranks whose Python came to its end without an exception
  nccl::Record nccl;
  std::string cut_off_build;  ///< see RemovedLocks::cut_off
  /// The store of this host at which nobody listened when its ranks were found to wait for it.
  std::string unopened;
};

/// Adds an exception to those that were raised. A rank may raise, and its store fail, thousands of
/// times: its first and its last one tell what matters, and no more are kept.
void note_raised(std::vector<RankRaised>& raised, RankRaised news);

/// "the ranks were given different stores: rank 0 a:1, rank 1 a:2"; empty where they have one.
[[nodiscard]] std::string different_stores(const std::map<Rank, std::string>& stores);

/// Whether two of these stores, "host:port", cannot be one: one host may have several names, but a
/// port is a number. Port 0 is none yet.
[[nodiscard]] bool ports_differ(const std::map<Rank, std::string>& stores);

/// The ranks as which each process has spoken.
class NamedRanks {
 public:
  /// False for a rank beyond those that one script may name: it may meet as several ranks one after
  /// the other, but not as ever more.
  [[nodiscard]] bool accept(ProcessId process, Rank rank);

 private:
  std::map<ProcessId, std::set<Rank>> named_;
};

/// The settings on which the decisions of the watch depend.
struct RankRules {
  watch::StagesConfig stages;
  bool hook = false;  ///< the ranks are given a hook
  /// The identity of a rank that safelaunch itself was given, and the whole job inherits.
  std::optional<watch::RankIdentity> outer{};
};

/// The job has been started.
struct WatchBegins {};
/// A worker of our own spawn was started.
struct RankSpawned {
  Rank rank;
  ProcessId process;
};
/// A process has ended that was started as this rank, or has spoken as it.
struct ProcessEnded {
  Rank rank;
  ProcessId process;
  std::optional<ExitStatus> status{};
};
/// A hook, or NCCL's plugin, has said something. The message is needed during the call alone.
struct HookSpoke {
  ProcessId process;
  const watch::HookMessage& message;
  /// The process and those above it (see line_of()); needed where wants_line() says so.
  std::vector<watch::ProcessOfRank> line{};
};
/// The connection of a process's hook is closed.
struct HookClosed {
  ProcessId process;
};
/// A process sends more packets than safelaunch reads.
struct HookFlooded {
  ProcessId process;
};
/// torch's watchdog has given a collective up, and ends its process once all have written down
/// where they are, by default a minute later; or JAX has given the start up, and aborts.
struct WatchdogSpoke {};
/// NCCL's log tells how far a rank is.
using NcclTold = nccl::Progress;
/// The result of TakeLook.
struct LookTaken {
  std::vector<ProcessId> running;  ///< the processes that still run, of those whose hook is silent
  watch::Snapshot processes;
};
/// The result of SampleRanks.
struct RanksSampled {
  std::vector<RankActivity> activities;
};
/// The result of SampleOthers.
struct OthersSampled {
  std::optional<host::ActivitySeen> others;
  std::optional<host::ActivitySeen> helpers;
  watch::Nameless nameless = watch::Nameless::none;
};
/// FindUser has found a process that is not of our own user.
struct AnotherUserRuns {
  Rank rank;
  host::ProcessFacts process;
};
/// The CUDA driver answers nobody, and these ranks stand still in it, in words.
struct DriverSilent {
  std::vector<Rank> ranks;
  std::string text;
};
/// All ranks stand still; it has the kernel call of each.
struct AllStandStill {
  watch::StoodStill still;
  std::map<Rank, std::string> doings;
};
/// The result of AskPlaces.
struct PlacesTold {
  RankAnswers answers;
  std::string locks;                   ///< the locks that the ranks may wait for, in words
  std::vector<clean::StaleFile> left;  ///< locks that may be removed
  std::string help = {};               ///< what to do about a lock that is kept
};
/// An agent has published what its ranks do.
struct NodeSpoke {
  NodeName node;
  std::vector<RankPicture> ranks;
};
/// An agent has fallen silent, or is heard again: its ranks are unseen meanwhile.
struct NodeHeard {
  int seat = 0;
  bool heard = true;
};
/// The leader wants to know what the ranks of this node do, whether or not one of them waits.
struct LeaderWatches {
  bool watches = true;
};
/// A person asks from outside where the ranks stand (`safelaunch stacks`).
struct StacksWanted {};
/// The machine's deadline has come.
struct WatchTimePassed {};
/// The attempt is being stopped: nothing is judged any more. Ends of ranks are still noted.
struct WatchFreezes {};

using WatchEvent =
    std::variant<WatchBegins, RankSpawned, ProcessEnded, HookSpoke, HookClosed, HookFlooded,
                 WatchdogSpoke, NcclTold, nccl::Contradiction, NcclSpoke, LookTaken, RanksSampled,
                 OthersSampled, AnotherUserRuns, DriverSilent, AllStandStill, PlacesTold, NodeSpoke,
                 NodeHeard, LeaderWatches, StacksWanted, WatchTimePassed, WatchFreezes>;

/// Watch for the end of a process that is not our child; ProcessEnded follows.
struct WatchExit {
  Rank rank;
  ProcessId process;
};
/// Ask a process's hook nothing but whether it hears.
struct AskWhetherItHears {
  ProcessId process;
};
/// Look at all processes of the job, and whether these still run; LookTaken follows.
struct TakeLook {
  std::vector<ProcessId> silent;
};
/// Look at what these ranks do; RanksSampled follows.
struct SampleRanks {
  std::vector<AskedRank> ranks;
};
/// Look at what processes do that are no ranks; OthersSampled follows.
struct SampleOthers {
  std::set<ProcessId> ranks;
  bool others = false;   ///< look at processes that may be a rank
  bool helpers = false;  ///< look at processes that may work for a rank
};
/// Find out whether a process runs as another user; AnotherUserRuns follows where it does.
struct FindUser {
  Rank rank;
  ProcessId process;
};
/// Ask all ranks where they stand, and look for the locks that they may wait for there; PlacesTold
/// follows.
struct AskPlaces {};
/// Remove locks that nobody holds, and tell of each.
struct RemoveLocks {
  std::vector<clean::StaleFile> left;
};
/// Ask these ranks where they stand, and tell it the person who wants to know, with what is known
/// of all ranks.
struct ShowStacks {
  std::vector<AskedRank> ask;
  stacks::SupervisorAnswer known;  ///< the stacks are not in it yet
};
/// A hook has answered a question.
struct PassAnswer {
  ProcessId process;
  std::optional<Rank> rank;
  std::variant<watch::StackAnswer, watch::CollectivesAnswer, watch::CountersAnswer,
               watch::ArrivalsAnswer>
      answer;
};
struct RecordEvent {
  report::record::Event event;
};
/// Record this event unless the job has caused too many of its kind already.
struct RecordSome {
  report::record::Event event;
};
/// Every rank has its first collective behind it: nothing is looked at any more.
struct BeginTraining {};
/// The last ones are only told (ranks_tell.h).
using WatchAction =
    std::variant<WatchExit, AskWhetherItHears, TakeLook, SampleRanks, SampleOthers, FindUser,
                 AskPlaces, RemoveLocks, ShowStacks, PassAnswer, RecordEvent, RecordSome,
                 TellVerdict, BeginTraining, TellMeeting, WaitTimedOut, ServeFailed, ShowStatus,
                 ShowWaiting, TellNotice, NcclSpoke, TellNewLife, TellRanksGone>;

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
  void note_call(Rank rank, const watch::HookCall& told, TimePoint now);
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

/// How ranks wait, in torch, until another process has built an extension.
[[nodiscard]] BuildWait waits_for_a_build(const RankAnswers& answers);

}  // namespace safelaunch::ranks
