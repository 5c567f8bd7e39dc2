#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/job/command.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/launch/tree_stopper.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/run/grace.h"
#include "safelaunch/run/rank_watch.h"
#include "safelaunch/run/services.h"
#include "safelaunch/run/workers.h"
#include "safelaunch/watch/stages.h"

namespace safelaunch {

/// One start of the command, completely settled.
struct AttemptSpec {
  int number = 1;
  std::string profile;
  Launcher launcher = Launcher::opaque;
  std::vector<WorkerSpec> workers;  ///< one launcher, or the workers of this node
  StagesConfig stages;
  Duration start{};  ///< 0: off, as
  Duration stall{};  ///< this
  bool kill_on_stall = false;
  CleanPolicy clean = CleanPolicy::off;
  Grace grace;
  OutputPlan output;
  std::filesystem::path directory;  ///< of this attempt; empty where nothing is recorded
  std::optional<HookDoor> hook;     ///< none: watch from /proc alone
  NcclListening nccl;
  Ras ras = Ras::off;
};

/// What happened to an attempt: what its diagnosis rests on.
struct AttemptRecord {
  Duration took{};
  std::optional<Verdict> verdict;
  bool training = false;              ///< every rank had its first collective behind it
  std::optional<ExitStatus> command;  ///< how the launcher (or the first failing worker) ended
  std::optional<int> signal;          ///< that somebody sent us, and that stops a job
  std::optional<int> late_signal;     ///< the same, while it was being stopped already
  bool gave_way = false;              ///< ended by us for another profile, before it had failed
  RanksSeen ranks;
  std::string ras;                  ///< what NCCL's RAS said is amiss; empty: nothing, or not asked
  std::string stages;               ///< "group 4/4 · collective 3/4"
  std::vector<Survivor> survivors;  ///< not gone, though killed or another user's
  std::vector<Swept> swept;         ///< what its launcher had left running
  struct Tail {
    StreamId stream;
    std::string text;
  };
  std::vector<Tail> tails;  ///< the last 64 KiB of each stream, of a hang until we stopped it
};

/// Whether a signal to safelaunch means that the job is to end (INT, TERM, HUP, QUIT); all others
/// are the job's own business.
[[nodiscard]] bool ends_a_job(int signal);

/// One start of the command under one profile: starts it, watches its ranks, stops it whole where
/// the watch or the user says so, and ends when no process of it lives and all its output is passed
/// on.
///
///     running ── verdict ──→ asking for stacks ──→ stopping ──→ draining ──→ over
///        └────── command ended, or the user's signal ────┘
///
/// Use it on the io_context's thread; it must outlive the call of `on_end`.
class Attempt {
 public:
  struct Observer {
    std::function<void()> on_meeting;   ///< a rank waits for the others; comes again and again
    std::function<void()> on_stopping;  ///< what stands beside it is to end too, now
    std::function<void(const AttemptRecord&)> on_end;
  };

  Attempt(const Services& services, AttemptSpec spec, Observer observer);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt();

  /// An error means that nothing runs: the command does not exist, or no descriptor was free.
  Result<void> start();

  /// Ends it, while it runs, because another profile is to be tried.
  void give_way();

  /// A process that the job had orphaned was reaped.
  void orphan_ended(int pid, const ExitStatus& status);

  /// A signal that was sent to safelaunch while the attempt runs.
  void signal(const ReceivedSignal& received);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace safelaunch
