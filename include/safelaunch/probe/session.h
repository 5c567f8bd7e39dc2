#pragma once

#include <functional>
#include <memory>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/launch/reaper.h"
#include "safelaunch/nccl/version.h"
#include "safelaunch/probe/probe_run.h"
#include "safelaunch/probe/verdict.h"

namespace safelaunch::probe {

/// The GPU on which one rank of a probe runs, and its environment.
struct RankSeat {
  int device = 0;  ///< the GPU's ordinal among the visible ones
  Environment environment;
};

/// Seats for so many ranks on so many GPUs. `applied` is the environment of the job under the
/// profile; the probe's own settings (NCCL's log, no blocking, no RAS) are put over it.
///
/// NCCL refuses two ranks on one GPU. Where there are more ranks than GPUs it is therefore told to
/// allow it (from 2.30 on, two a GPU), or each rank is made a node of its own, so that they meet
/// over sockets: then the probe tells nothing of links between GPUs, but all the rest.
[[nodiscard]] std::vector<RankSeat> seat_ranks(int ranks, int gpus,
                                               const std::optional<nccl::Version>& nccl,
                                               const Environment& applied, const Part& part = {});

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
  Part part{};
};

/// The outcome of a probe.
struct Outcome {
  Verdict verdict;
  std::string log;         ///< NCCL's lines of level WARN, of all ranks: they may show a cause
  bool cut_short = false;  ///< Run::was_cut_short()
};

/// The news of this node's ranks for the ranks of other nodes.
struct Meeting {
  std::function<void(const std::string& id)> ready;  ///< TellReady
  std::function<void()> measured;                    ///< TellMeasured
  std::function<void(Trouble trouble)> trouble;      ///< TellTrouble
};

/// A probe that is under way. The outcome is told once, within the limits and some seconds,
/// whatever the driver does. Destroying it kills its ranks, and nothing is told.
class Session {
 public:
  using OnOutcome = std::function<void(const Outcome& outcome)>;

  /// Errors: not_found, not_executable, os.
  [[nodiscard]] static Result<Session> start(boost::asio::io_context& io, launch::Reaper& reaper,
                                             const Spec& spec, OnOutcome on_outcome,
                                             Meeting meeting = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Ends it politely, because somebody needs the GPUs; the outcome is still told.
  void stop(const std::string& why);
  /// Kills its ranks; the outcome is told when they are gone.
  void kill();

  /// Several nodes: hands in IdCame, and OthersOver.
  void meet(const std::string& id);
  void others_are_over();

 private:
  struct Running;
  explicit Session(std::shared_ptr<Running> running);

  std::shared_ptr<Running> running_;
};

/// Runs a probe for a verb: blocks, with a Reaper of its own.
[[nodiscard]] Result<Outcome> run_probe(const Spec& spec);

}  // namespace safelaunch::probe
