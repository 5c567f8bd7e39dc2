#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "safelaunch/launch/reaper.h"
#include "safelaunch/launch/stop.h"

namespace safelaunch::launch {

/// A process of the job that has not ended.
struct Survivor {
  int pid = 0;
  char state = '?';      ///< as in ps; D: in a driver
  bool refused = false;  ///< it is another user's, and was not signalled; else it was killed
};

/// A process that a sweep has ended.
struct Swept {
  int pid = 0;
  std::string name;  ///< the kernel's name of it
  bool operator==(const Swept&) const = default;
};

/// Performs one stop, as a StopSequence decides it, on everything below us. Woken by processes that
/// end and by its deadlines, nothing else. One attempt, one stopper; destroying it before it is
/// done gives the stop up.
class TreeStopper {
 public:
  /// Signals the launcher alone, or each worker that we spawned.
  using AskMainWith = std::function<void(int signal)>;
  /// Nothing of the job lives any more but the survivors, of which there are hardly ever any.
  using OnDone = std::function<void(const std::vector<Survivor>&)>;

  TreeStopper(boost::asio::io_context& io, Reaper& reaper, AskMainWith ask_main, OnDone on_done);
  TreeStopper(const TreeStopper&) = delete;
  TreeStopper& operator=(const TreeStopper&) = delete;
  ~TreeStopper();

  /// May be called again while a stop is under way: see StopWanted.
  void stop(const StopWanted& wanted);

  /// The launcher, or the last worker of ours, has ended.
  void main_ended(MainEnded ended);

  /// The last rank has ended.
  void ranks_gone();

  /// An orphan that came to us was reaped.
  void orphan_ended(int pid, const ExitStatus& status);

  /// What the sweep has ended: processes that a signal killed, and what had left the job's sessions
  /// for one of its own. All others have followed their parents by themselves.
  [[nodiscard]] std::vector<Swept> swept() const;

 private:
  struct Performance;
  std::shared_ptr<Performance> performance_;
};

}  // namespace safelaunch::launch
