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

namespace safelaunch::probe {

/// Whether somebody else needs the GPUs meanwhile. Beside a job a probe declines on a GPU that has
/// too little free memory, or that serves one process at a time.
enum class Beside { nobody, job };

/// A probe of one profile.
struct Spec {
  std::string program;          ///< safelaunch-probe
  std::string nccl;             ///< the job's libnccl, as dlopen takes it
  std::vector<RankSeat> seats;  ///< one a rank
  Limits limits;
  Beside beside = Beside::nobody;
};

/// The outcome of a probe.
struct Outcome {
  Verdict verdict;
  std::string log;  ///< NCCL's lines of level WARN, of all ranks: they may show a cause
};

/// A probe that is under way. The outcome is told once, within the limits and some seconds,
/// whatever the driver does. Destroying it kills its ranks, and nothing is told.
class Session {
 public:
  using OnOutcome = std::function<void(const Outcome& outcome)>;

  /// Errors: not_found, not_executable, os.
  [[nodiscard]] static Result<Session> start(boost::asio::io_context& io, launch::Reaper& reaper,
                                             const Spec& spec, OnOutcome on_outcome);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Ends it politely, because somebody needs the GPUs; the outcome is still told.
  void stop(const std::string& why);

 private:
  struct Running;
  explicit Session(std::shared_ptr<Running> running);

  std::shared_ptr<Running> running_;
};

/// The same for verbs: blocks, with a Reaper of its own.
[[nodiscard]] Result<Outcome> run_probe(const Spec& spec);

}  // namespace safelaunch::probe
