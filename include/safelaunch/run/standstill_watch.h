#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/watch/rank_state.h"
#include "safelaunch/watch/standstill.h"

namespace safelaunch {

/// Looks, rarely, whether all ranks stand still although none waits for another. Ends with the
/// first collective.
class StandstillWatch {
 public:
  using RanksNow = std::function<const std::map<Rank, RankState>&()>;
  /// For how long, and what each rank does in the kernel.
  using OnStill = std::function<void(Duration still_for, std::map<Rank, std::string> doings)>;

  StandstillWatch(boost::asio::io_context& io, Duration patience, OnStill on_still)
      : patience_(patience), on_still_(std::move(on_still)), timer_(io) {}

  void begin(RanksNow ranks);
  void end();

 private:
  void look_later();
  void look();
  [[nodiscard]] bool all_still(TimePoint now);

  Duration patience_;
  OnStill on_still_;
  boost::asio::steady_timer timer_;
  Procfs table_;
  RanksNow ranks_;
  std::optional<Standstill> standstill_;
  std::map<Rank, TreeSample> looks_;
  std::map<Rank, std::string> doings_;
};

/// The locks of torch's extensions that the ranks of a job with this environment may wait for, in
/// words: whose, how old, and what to do. Empty where there are none, or where only a server knows.
[[nodiscard]] std::string extension_locks_in_words(const Environment& environment);

}  // namespace safelaunch
