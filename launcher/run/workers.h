#pragma once

#include "safelaunch/base/event.h"
#include "safelaunch/launch/child.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/launch/terminal_loan.h"
#include "safelaunch/output/job_output.h"

namespace safelaunch::run {

/// One process to start: the launcher, or a worker of our own spawn.
struct WorkerSpec {
  std::optional<Rank> rank;  ///< none: a launcher, which has ranks below it
  std::vector<std::string> argv;
  Environment environment;
  std::vector<int> cpus;  ///< the CPUs to run on; empty: wherever we may
};

/// The processes that one attempt starts itself: one launcher, or the workers of this node. All
/// live until the attempt is over; the TreeStopper ends the processes that they have started in
/// turn.
class Workers {
 public:
  class Listener {
   public:
    /// A worker of our own spawn has started.
    virtual void on_started(Rank rank, ProcessId process) = 0;
    virtual void on_exit(std::optional<Rank> rank, ProcessId process, const ExitStatus& status) = 0;
    virtual void on_all_ended() = 0;
    /// The user wants the job ended by a key, though the job has the terminal's keys.
    virtual void on_key(int signal, launch::TerminalLoan::KeyIsFor whom) = 0;

   protected:
    ~Listener() = default;
  };

  Workers(launch::Reaper& reaper, output::JobOutput& output, Listener& listener);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Starts one more; to be called for all before the io_context goes on. An error leaves those
  /// that were started before to the caller's stop.
  Result<void> start(const WorkerSpec& spec);

  /// Sends a signal to each that runs; one that comes from a terminal to its process group, as the
  /// terminal would: a shell script that waits for its ranks does not hand it on.
  void send(int signal, launch::SignalOrigin origin) const;

  /// Stops all, and us, until the shell lets us go on; see `launch::suspend_job`.
  void suspend(int signal);
  [[nodiscard]] bool running() const { return running_ > 0; }

 private:
  bool may_ask(const WorkerSpec& worker, const output::ChildStreams& streams);
  void ended(std::optional<Rank> rank, std::size_t index, const ExitStatus& status);

  launch::Reaper& reaper_;
  output::JobOutput& output_;
  Listener& listener_;
  launch::TerminalLoan terminal_;
  std::vector<launch::Child> children_;
  std::size_t running_ = 0;
};

}  // namespace safelaunch::run
