#pragma once

#include <functional>
#include <memory>

#include "safelaunch/base/process.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {

/// The one place that waits for children; a second one would take statuses away from it. It makes
/// us a subreaper, so that orphans of the job come to us, reaps each child as soon as it ends, and
/// tells those who wait for it. It must outlive the run of its io_context, and its callbacks must
/// not destroy it.
class Reaper {
 public:
  using OnExit = std::function<void(const ExitStatus&)>;
  using OnStop = std::function<void(int signal)>;
  using OnOrphan = std::function<void(int pid, const ExitStatus&)>;

  /// A child for which somebody waits. `on_exit` is called once, or never if it was cleared before;
  /// `on_stop` whenever a signal (SIGTSTP, SIGTTIN) has stopped it.
  struct Awaited {
    ProcessId process;
    OnExit on_exit;
    OnStop on_stop;
    bool ended = false;
  };

  /// `on_orphan` hears of the job's orphans: so we learn how a rank ended whose launcher was
  /// killed.
  Reaper(boost::asio::io_context& io, OnOrphan on_orphan);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper();

  /// Waits for a child that was just forked. The Reaper reaps nothing before we return to the
  /// io_context.
  std::shared_ptr<Awaited> await(ProcessId child, OnExit on_exit);

  /// Calls once when nothing is below us any more: a subreaper without a child has no descendant.
  /// If that is so already it calls at once (through the io_context). A later call replaces an
  /// earlier one; an empty function takes it back.
  void when_childless(std::function<void()> call);

  [[nodiscard]] boost::asio::io_context& io();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace safelaunch::launch
