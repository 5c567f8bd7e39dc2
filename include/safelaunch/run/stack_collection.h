#pragma once

#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"
#include "safelaunch/watch/hook_message.h"
#include "safelaunch/watch/rank_state.h"

namespace safelaunch {

/// What a rank's hook answered.
struct StackSeen {
  std::string where;   ///< its place in the user's code: "train.py:40 main → init_process_group"
  std::string frames;  ///< of all its threads, one a line
};

/// Where every rank is, asked of its hook once a verdict has fallen and before anything is ended;
/// the answers are kept as `evidence/rank-N.stack`. A rank that does not answer in time holds the
/// GIL, is stopped, or has no hook.
class StackCollection {
 public:
  /// Sends the question to a process; false where nobody there would answer.
  using Ask = std::function<bool(ProcessId, int id)>;
  using Done = std::function<void(std::map<Rank, StackSeen>)>;

  explicit StackCollection(boost::asio::io_context& io) : timer_(io) {}

  /// `directory` is the attempt's; empty: nothing is kept. Calls `done` once, through the
  /// io_context.
  void begin(const std::map<Rank, RankState>& ranks, const std::filesystem::path& directory,
             Duration limit, const Ask& ask, Done done);
  void answered(ProcessId process, const StackAnswer& answer);

 private:
  void keep(Rank rank, const std::string& frames) const;
  void finish_soon(Duration after);

  boost::asio::steady_timer timer_;
  std::filesystem::path evidence_;
  std::map<ProcessId, Rank> asked_;
  std::map<Rank, StackSeen> seen_;
  Done done_;
};

}  // namespace safelaunch
