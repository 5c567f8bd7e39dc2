#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/launch/reaper.h"
#include "safelaunch/probe/probe_run.h"
#include "safelaunch/probe/seats.h"
#include "safelaunch/probe/verdict.h"

namespace safelaunch {

/// Whether somebody else needs the GPUs meanwhile. Beside a job a probe declines on a GPU that has
/// too little free memory, or that serves one process at a time.
enum class Beside { nobody, job };

/// A probe of one profile.
struct ProbeSpec {
  std::string program;          ///< safelaunch-probe
  std::string nccl;             ///< the job's libnccl, as dlopen takes it
  std::vector<RankSeat> seats;  ///< one a rank
  ProbeLimits limits;
  Beside beside = Beside::nobody;
};

/// What a probe has come to.
struct ProbeOutcome {
  ProbeVerdict verdict;
  std::string log;  ///< what NCCL wrote at level WARN, of all ranks: shows a cause
};

/// A probe that is under way. The outcome is told once, within the limits and some seconds,
/// whatever the driver does. Destroying it kills its ranks, and nothing is told.
class ProbeSession {
 public:
  using OnOutcome = std::function<void(const ProbeOutcome& outcome)>;

  /// Errors: not_found, not_executable, os.
  [[nodiscard]] static Result<ProbeSession> start(boost::asio::io_context& io, Reaper& reaper,
                                                  const ProbeSpec& spec, OnOutcome on_outcome);
  ProbeSession(ProbeSession&&) noexcept;
  ProbeSession& operator=(ProbeSession&&) noexcept;
  ~ProbeSession();

  /// Ends it politely, because somebody needs the GPUs; the outcome is still told.
  void stop(const std::string& why);

 private:
  struct Running;
  explicit ProbeSession(std::shared_ptr<Running> running);

  std::shared_ptr<Running> running_;
};

/// The same for verbs: blocks, with a Reaper of its own.
[[nodiscard]] Result<ProbeOutcome> run_probe(const ProbeSpec& spec);

}  // namespace safelaunch
