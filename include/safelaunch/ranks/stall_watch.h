#pragma once

#include <functional>
#include <map>
#include <set>

#include "safelaunch/base/alarm.h"
#include "safelaunch/ranks/node_counts.h"
#include "safelaunch/ranks/ranks_tell.h"
#include "safelaunch/ranks/training_look.h"
#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/rank_state.h"
#include "safelaunch/watch/stall.h"

namespace safelaunch::ranks {

/// Drives `Stall` during training: its timer, and the questions to the hooks, and to the other
/// nodes on which ranks live. With a timeout of 0 it never wakes up.
class StallWatch {
 public:
  /// `ranks` are those of the job as they are seen at present, `finished` those whose Python came
  /// to its end in order. `ask` is to ask all hooks, and the other nodes, for their counters, under
  /// this number.
  StallWatch(boost::asio::io_context& io, StallTimeout timeout,
             const std::map<Rank, watch::RankState>& ranks, const std::set<Rank>& finished,
             OnRanksTell tell, std::function<void(int)> ask)
      : timer_(io),
        timeout_(timeout),
        ranks_(ranks),
        finished_(finished),
        tell_(std::move(tell)),
        ask_(std::move(ask)) {}

  /// `ranks`: how many the job has, on all nodes.
  void begin(int ranks, watch::Stall::Waiting waiting = watch::Stall::Waiting::may_spin);
  void end();
  void saw_output();
  void answered(Rank rank, const watch::CountersAnswer& answer);
  /// The agent of another node has answered.
  void answered(int seat, const NodeCounts& counts);
  [[nodiscard]] bool somebody_meets() const { return stall_ && stall_->somebody_meets(); }

 private:
  void rearm();
  void tick();
  void take(const TrainingLook::Seen& seen);
  void ask();
  void look_for_ends();

  Alarm timer_;
  StallTimeout timeout_;
  const std::map<Rank, watch::RankState>& ranks_;
  const std::set<Rank>& finished_;
  OnRanksTell tell_;
  std::function<void(int)> ask_;
  std::optional<watch::Stall> stall_;
  TrainingLook look_;
  int questions_ = 0;
  std::set<int> unanswered_;  // the other nodes that were asked
};

}  // namespace safelaunch::ranks
