#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/disk_queue.h"
#include "safelaunch/ranks/rank_questions.h"

namespace safelaunch::watch {
class HookChannel;
}  // namespace safelaunch::watch

namespace safelaunch::ranks {

/// Asks the hook of every rank where the rank is, which collectives it has called and in which of
/// the store's operations it waits: after a verdict and before anything is ended. The answers are
/// kept as `evidence/rank-N.stack` and `evidence/collectives`. A rank that does not answer in time
/// holds the GIL, is stopped, has no hook or has not imported torch yet: its stack is read from its
/// memory, where that can be done.
class RankInquiry {
 public:
  using Done = std::function<void(const RankAnswers&)>;
  using Calls = std::map<Rank, watch::FirstCall>;

  RankInquiry(boost::asio::io_context& io, DiskQueue& disk) : timer_(io), disk_(disk) {}

  /// Asks through `channel` (null: nobody has a hook). `directory` is the attempt's; empty: nothing
  /// is kept. `calls` are those that the ranks have told of by themselves. Calls `done` once,
  /// through the io_context.
  void begin(watch::HookChannel* channel, std::span<const AskedRank> ranks,
             std::span<const watch::HookQuestion> questions, const std::filesystem::path& directory,
             Duration limit, const Calls& calls, Done done);
  void answered(ProcessId process, const watch::StackAnswer& answer);
  void answered(ProcessId process, const watch::CountersAnswer& answer);
  void answered(ProcessId process, const watch::CollectivesAnswer& answer);
  /// The ranks end now: what has been answered is all. Without a question nothing happens.
  void finish();

 private:
  void keep(const std::string& file, std::string text) const;
  void keep_stack(Rank rank) const;
  void keep_collectives() const;
  void read_the_silent();
  void finish_if_all_have_answered();
  void finish_after(Duration time);

  Alarm timer_;
  DiskQueue& disk_;
  std::filesystem::path directory_;  ///< the attempt's folder; empty: no answer is kept
  std::vector<AskedRank> silent_;    ///< those whose stacks are asked for
  RankQuestions questions_;
  Done done_;
};

}  // namespace safelaunch::ranks
