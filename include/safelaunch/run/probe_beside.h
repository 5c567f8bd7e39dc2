#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/probe/policy.h"
#include "safelaunch/run/next_step.h"
#include "safelaunch/run/plan.h"
#include "safelaunch/run/services.h"

namespace safelaunch {

/// Where and with what a run can probe.
struct ProbeMeans {
  std::string program;  ///< safelaunch-probe
  std::string nccl;     ///< the job's libnccl
  int ranks = 0;        ///< of the job, on this node: one a GPU
};

/// The means of this run, or why it does not probe. Looks for libraries, which takes milliseconds:
/// to be called when the workers have been started.
[[nodiscard]] Result<ProbeMeans> means_to_probe(const RunPlan& plan, const Profile& first);

/// Probes the profile of an attempt while its workers still import; where it fails, those that may
/// heal it, until one works. Decided by a ProbeCampaign. Destroying it kills the probe, at once.
class ProbeBeside {
 public:
  /// The attempt is to be ended: `diagnosis` says why it cannot work, `step` what does.
  using OnSwitch = std::function<void(const Diagnosis& diagnosis, const NextStep& step)>;
  /// What the chain takes next, where `tried` were tried in vain.
  using Next =
      std::function<NextStep(const Diagnosis& diagnosis, const std::vector<std::string>& tried)>;

  /// `plan` must outlive it.
  ProbeBeside(const Services& services, const RunPlan& plan, ProbeMeans means, Next next,
              OnSwitch on_switch);
  ProbeBeside(const ProbeBeside&) = delete;
  ProbeBeside& operator=(const ProbeBeside&) = delete;
  ~ProbeBeside();

  /// First of all, and once.
  void begin(const Profile& profile);
  /// A rank waits for the others: the job itself is a better proof from now on.
  void ranks_meet();
  /// The attempt is being ended. Nothing is below us any more when this returns.
  void end();

  /// Profiles that were shown to fail here.
  [[nodiscard]] std::vector<std::string> refuted() const;
  [[nodiscard]] std::span<const ProbedProfile> probed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace safelaunch
