#pragma once

#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"
#include "safelaunch/watch/collectives.h"
#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/rank_state.h"

namespace safelaunch::run {

/// Where a rank stands in its code.
struct StackSeen {
  std::string where;   ///< its place in the user's code: "train.py:40 main → init_process_group"
  std::string frames;  ///< of all its threads, one a line
};

/// What the ranks answered; each as far as it did.
struct RankAnswers {
  std::map<Rank, StackSeen> stacks;
  std::map<Rank, watch::RankCollectives> collectives;
};

/// Where every rank is, which collectives it has called and in which of the store's operations it
/// waits: asked of its hook once a verdict has fallen and before anything is ended. The answers are
/// kept as `evidence/rank-N.stack` and `evidence/collectives`. A rank that does not answer in time
/// holds the GIL, is stopped, or has no hook.
class RankInquiry {
 public:
  /// Sends a question to a process; false where nobody there would answer.
  using Ask = std::function<bool(ProcessId, watch::HookQuestion)>;
  using Done = std::function<void(RankAnswers)>;

  explicit RankInquiry(boost::asio::io_context& io) : timer_(io) {}

  /// `directory` is the attempt's; empty: nothing is kept. Calls `done` once, through the
  /// io_context.
  void begin(const std::map<Rank, watch::RankState>& ranks, const std::filesystem::path& directory,
             Duration limit, const Ask& ask, Done done);
  void answered(ProcessId process, const watch::StackAnswer& answer);
  void answered(ProcessId process, const watch::CountersAnswer& answer);
  void answered(ProcessId process, const watch::CollectivesAnswer& answer);

 private:
  struct Asked {
    Rank rank;
    std::set<watch::HookQuestion> open;
  };
  /// The rank, where the question is open; it is no more, then.
  std::optional<Rank> close(ProcessId process, watch::HookQuestion question);
  void keep_collectives() const;
  void finish_soon(Duration after);

  boost::asio::steady_timer timer_;
  std::filesystem::path evidence_;
  std::map<ProcessId, Asked> asked_;
  RankAnswers answers_;
  Done done_;
};

}  // namespace safelaunch::run
