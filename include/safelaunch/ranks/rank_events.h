#pragma once

#include <map>
#include <set>
#include <variant>

#include "safelaunch/base/event.h"
#include "safelaunch/base/process.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/nccl/job.h"
#include "safelaunch/ranks/node_ranks.h"
#include "safelaunch/ranks/rank_questions.h"
#include "safelaunch/ranks/ranks_tell.h"
#include "safelaunch/report/record.h"
#include "safelaunch/stacks/question.h"
#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/observer.h"
#include "safelaunch/watch/stages.h"
#include "safelaunch/watch/standstill.h"

/// What comes to RankMachine, and what it wants done. RankWatch performs it.
namespace safelaunch::ranks {

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

}  // namespace safelaunch::ranks
