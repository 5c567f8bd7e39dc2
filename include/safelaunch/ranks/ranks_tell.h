#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "safelaunch/base/failure.h"
#include "safelaunch/nccl/watch.h"
#include "safelaunch/ranks/node_counts.h"
#include "safelaunch/ranks/node_ranks.h"
#include "safelaunch/ranks/rank_questions.h"
#include "safelaunch/watch/stall.h"

// The news of the ranks of an attempt, as it is told to the attempt.
namespace safelaunch::ranks {

/// The attempt is lost.
struct TellVerdict {
  Failure verdict;
};
/// A rank waits for the others, or has begun to connect; comes again and again.
struct TellMeeting {};
/// Every rank has its first collective behind it, or the server answers.
struct TrainingBegan {
  bool serves = false;
};
struct TrainingStalled {
  watch::StallReport report;
};
/// It moves again, after a standstill of which the user was told.
struct TrainingMoves {
  Duration stood{};
};
/// A rank has given up a wait for others, by a timeout of its own: it ends now, and its launcher
/// ends the others for it. `wait`: for whom; none in training, where only the ranks know.
struct WaitTimedOut {
  std::optional<Failure> wait;
};
/// The server cannot listen: it ends with this status now, or waits for its ranks.
struct ServeFailed {
  int status = 1;
};
/// The status line; empty: none.
struct ShowStatus {
  std::string line;
};
/// A line about the wait, for output without a status line: once half of the deadline is over, then
/// now and then.
struct ShowWaiting {
  std::string line;
};
/// Tell the user this in a line of its own.
struct TellNotice {
  std::string text;
};
/// NCCL has said something to people.
using NcclSpoke = nccl::Spoke;
/// The ranks have answered what they were asked, each as far as it could in time.
struct RanksAnswered {
  RankAnswers answers;
};
/// The launcher has started its ranks again: what was written before is of a former life.
struct TellNewLife {};
/// The last rank has ended while the job was stopped.
struct TellRanksGone {};
/// Ranks begin to wait for others, or none waits any longer.
struct RanksWait {
  bool wait = true;
};
/// Another picture of this node's ranks, for the leader.
struct TellPicture {
  std::vector<RankPicture> ranks;
};
/// Ask the agents of the other nodes where their ranks stand; RankWatch::node_answered() follows
/// for each.
struct AskNodes {};
/// Ask the agents of the other nodes how far their ranks have come in training;
/// RankWatch::node_counted() follows for each.
struct AskCounts {
  int question = 0;
};
/// The answer of this node, for the leader.
struct TellCounts {
  NodeCounts counts;
};

using RanksTell = std::variant<TellVerdict, TellMeeting, TrainingBegan, TrainingStalled,
                               TrainingMoves, WaitTimedOut, ServeFailed, ShowStatus, ShowWaiting,
                               TellNotice, NcclSpoke, RanksAnswered, TellNewLife, TellRanksGone,
                               RanksWait, TellPicture, AskNodes, AskCounts, TellCounts>;
using OnRanksTell = std::function<void(const RanksTell&)>;

}  // namespace safelaunch::ranks
