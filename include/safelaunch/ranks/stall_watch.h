#pragma once

#include <functional>
#include <map>
#include <set>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/ranks/node_counts.h"
#include "safelaunch/ranks/ranks_tell.h"
#include "safelaunch/watch/activity_sampler.h"
#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/rank_state.h"
#include "safelaunch/watch/stall.h"
#include "safelaunch/watch/standstill.h"

namespace safelaunch::ranks {

struct AllStandStill;

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

/// Looks, rarely, whether all ranks stand still although none waits for another, and no process of
/// the job that may work for them does anything either. Ends with the first collective.
class StandstillWatch {
 public:
  StandstillWatch(boost::asio::io_context& io, const watch::StandstillLimits& limits,
                  const std::map<Rank, watch::RankState>& ranks,
                  std::function<void(const AllStandStill&)> on_standstill)
      : limits_(limits), ranks_(ranks), on_standstill_(std::move(on_standstill)), timer_(io) {}

  void begin();
  void end();

 private:
  void look_later();
  void look();
  [[nodiscard]] bool all_still(TimePoint now);
  [[nodiscard]] bool others_work(TimePoint now);

  watch::StandstillLimits limits_;
  const std::map<Rank, watch::RankState>& ranks_;
  std::function<void(const AllStandStill&)> on_standstill_;
  Alarm timer_;
  host::Procfs table_;
  std::optional<watch::Standstill> standstill_;
  std::map<Rank, host::TreeSample> looks_;
  watch::ActivitySampler others_{table_};
  std::map<Rank, std::string> doings_;
};

/// The locks of torch's extensions that the ranks of a job may wait for.
struct WaitedLocks {
  std::string words;  ///< the locks' owners and ages; empty: there are no locks
  std::string help;   ///< what to do about one that is kept; may be empty
  std::set<std::string> paths;
  std::vector<clean::StaleFile> left;  ///< those that nobody holds and nobody builds: they may go
};

/// Whether a build has ended before: the folder of its lock holds the library that torch loads.
/// If it holds none, a rank that has waited for the lock goes on to load a file that is not there.
[[nodiscard]] bool has_built_extension(const std::string& lock);

/// Looks for the locks that a job with this environment may wait for. Finds none where only a file
/// server knows of them. Who waits until a lock is free waits for none that nobody holds.
[[nodiscard]] WaitedLocks find_waited_locks(const Environment& environment,
                                            settings::CleanPolicy policy, BuildWait wait);

/// The locks that were removed under the ranks which waited for them.
struct RemovedLocks {
  std::vector<std::string> lines;  ///< what was done, a line each
  /// A lock of a build that had been cut off before it made a library. A rank that has waited for
  /// it finds no library, and only the next start builds it. Empty: there is none.
  std::string cut_off;
};

/// Removes the locks as far as the policy allows.
[[nodiscard]] RemovedLocks remove_waited_locks(const std::vector<clean::StaleFile>& left,
                                               settings::CleanPolicy policy);

}  // namespace safelaunch::ranks
