#pragma once

#include <functional>
#include <memory>

#include "safelaunch/base/finding.h"
#include "safelaunch/base/time.h"
#include "safelaunch/launch/reaper.h"
#include "safelaunch/plan/plan.h"

namespace safelaunch::plan {

/// Ends what is left over from earlier runs and provably ours, as `--clean` says, and lists what
/// stands in this run's way and is left alone. Blocks while processes end (seconds at most, and
/// only if there are any). The lines are for the screen; none where there is nothing to say.
[[nodiscard]] std::vector<std::string> clean_before_run(const RunPlan& plan);

/// The doctor's findings on this host and the first attempt's environment: blockers, then risks.
/// Takes milliseconds; a healthy host gets nothing.
[[nodiscard]] std::vector<Finding> examine_host(const RunPlan& plan);

/// The results of the checks before a run.
struct HostReport {
  std::vector<std::string> lines;  ///< one for each thing that was cleaned
  std::vector<Finding> findings;
  std::string trouble;  ///< why the checks ended early; empty: they came to their end
};

/// The checks before a run, in a process of their own: they read files and ask name servers that
/// may never answer. So the checks can be left behind, and we hear signals meanwhile.
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

}  // namespace safelaunch::plan
