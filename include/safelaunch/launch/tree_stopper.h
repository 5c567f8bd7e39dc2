#pragma once

#include <functional>
#include <memory>
#include <string>

#include "safelaunch/launch/reaper.h"
#include "safelaunch/launch/stop.h"

namespace safelaunch::launch {

/// A process of the job that did not end.
struct Survivor {
  int pid = 0;
  char state = '?';      ///< the state as in ps; D: in a driver
  bool refused = false;  ///< it is another user's, so it was not signalled; else it was killed
};

/// A process that a sweep has ended.
struct Swept {
  int pid = 0;
  std::string name;  ///< the kernel's name of it
  bool operator==(const Swept&) const = default;
};

/// Performs one stop, as a StopSequence decides it, on everything below us. Only processes that end
/// and its own deadlines wake it. Each attempt has its own stopper; to destroy it before it is done
/// gives the stop up.
class TreeStopper {
 public:
  /// Signals the launcher alone, or each worker that we have spawned.
  using AskMainWith = std::function<void(int signal)>;
  /// Called when nothing of the job lives any more, except for the survivors; hardly ever are there
  /// any.
  using OnDone = std::function<void(const std::vector<Survivor>&)>;

  TreeStopper(boost::asio::io_context& io, Reaper& reaper, AskMainWith ask_main, OnDone on_done);
  TreeStopper(const TreeStopper&) = delete;
  TreeStopper& operator=(const TreeStopper&) = delete;
  ~TreeStopper();

  /// Begins to stop. A further call while a stop is under way: see StopWanted.
  void stop(const StopWanted& wanted);

  /// Call it when the launcher, or the last worker of ours, has ended.
  void main_ended(MainEnded ended);

  /// Call it when the last rank has ended.
  void ranks_gone();

  /// Call it when an orphan was reaped.
  void orphan_ended(int pid, const ExitStatus& status);

  /// The processes that the sweep has ended: those that a signal killed, and those with a session
  /// of their own. All others have followed their parents by themselves.
  [[nodiscard]] std::vector<Swept> swept() const;

 private:
  struct Performance;
  std::shared_ptr<Performance> performance_;
};

}  // namespace safelaunch::launch
