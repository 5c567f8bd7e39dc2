#pragma once

#include <functional>
#include <memory>

#include "run_machine.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/probe/policy.h"
#include "safelaunch/ranks/services.h"

namespace safelaunch::run {

/// The program, the library and the ranks with which a run can probe.
struct ProbeMeans {
  std::string program;  ///< safelaunch-probe
  std::string nccl;     ///< the job's libnccl
  int ranks = 0;        ///< the ranks of the job on this node: one a GPU
};

/// The means of this run, or why it does not probe now. `gpus` of this host; nullopt: not known.
/// Looks for libraries, which takes milliseconds: not to be called before the workers have been
/// started.
[[nodiscard]] Result<ProbeMeans> means_to_probe(const plan::RunPlan& plan,
                                                const profile::Profile& profile,
                                                std::optional<int> gpus, probe::Moment moment);

/// The probes of a run: the profile of an attempt while its workers still import, and where it
/// fails those that may heal it, until one works (decided by a probe::Campaign); or, between two
/// attempts, all that may follow (a probe::Selection). Destroying it kills the probe, at once.
class RunProbe {
 public:
  /// Takes SwitchFound and ProfileChosen.
  using OnEvent = std::function<void(const RunEvent&)>;

  /// `plan` and `machine`, which knows the steps that would follow, must outlive it.
  RunProbe(const ranks::Services& services, const plan::RunPlan& plan, ProbeMeans means,
           const RunMachine& machine, OnEvent on_event);
  RunProbe(const RunProbe&) = delete;
  RunProbe& operator=(const RunProbe&) = delete;
  ~RunProbe();

  /// Probes beside an attempt under this profile; once.
  void begin_beside(const profile::Profile& profile);
  /// A rank waits for the others: the job itself is a better proof from now on.
  void ranks_meet();
  /// The attempt is being ended. Nothing is below us any more when this returns.
  void end();

  /// Probes between two attempts.
  void choose(std::vector<profile::Profile> candidates);

  /// Profiles that were shown to fail here.
  [[nodiscard]] std::vector<std::string> refuted() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace safelaunch::run
