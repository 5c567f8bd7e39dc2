#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "safelaunch/base/finding.h"
#include "safelaunch/base/time.h"
#include "safelaunch/launch/reaper.h"
#include "safelaunch/run/plan.h"

namespace safelaunch::run {

/// Ends what is left over from earlier runs and provably ours, as `--clean` says, and lists what
/// stands in this run's way and is left alone. Blocks while processes end (seconds at most, and
/// only if there are any). The lines are for the screen; none where there is nothing to say.
[[nodiscard]] std::vector<std::string> clean_before_run(const RunPlan& plan);

/// What the doctor says of this host and the first attempt's environment: what blocks, then risks.
/// Takes milliseconds; a healthy host gets nothing.
[[nodiscard]] std::vector<Finding> examine_host(const RunPlan& plan);

/// What the checks before a run have to say.
struct HostReport {
  std::vector<std::string> lines;  ///< of what was cleaned
  std::vector<Finding> findings;
  std::string trouble;  ///< why there are no more; empty: they came to their end
};

/// The checks before a run, in a process of their own: they read files and ask name servers of
/// somebody else, who may never answer, and so can be left behind. Meanwhile we hear signals.
class HostChecks {
 public:
  using OnDone = std::function<void(HostReport)>;

  /// Calls `on_done` once, through the io_context; after `limit` in any case. Destroying it kills
  /// them, and nothing is told.
  HostChecks(boost::asio::io_context& io, const RunPlan& plan, Duration limit, OnDone on_done);
  HostChecks(const HostChecks&) = delete;
  HostChecks& operator=(const HostChecks&) = delete;
  ~HostChecks();

 private:
  struct Running;
  std::shared_ptr<Running> running_;
};

}  // namespace safelaunch::run
