#pragma once

#include <functional>
#include <memory>

#include "safelaunch/base/exit_status.h"
#include "safelaunch/base/process_id.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {

/// The one place that waits for children; anybody else who did would take statuses away from it.
/// It makes us a subreaper, so that orphans of the job come to us, reaps whatever ends the moment
/// it does, and tells those who care. Must outlive its io_context's run and must not be destroyed
/// by what it calls.
class Reaper {
 public:
  using OnExit = std::function<void(const ExitStatus&)>;
  using OnOrphan = std::function<void(int pid, const ExitStatus&)>;

  /// A child that somebody waits for. `on_exit` is called once, or never if it was cleared before.
  struct Awaited {
    ProcessId process;
    OnExit on_exit;
    bool ended = false;
  };

  /// `on_orphan` hears of processes that the job had orphaned: how a rank under a launcher ended
  /// that was itself killed.
  Reaper(boost::asio::io_context& io, OnOrphan on_orphan);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  ~Reaper();

  /// From the fork on; the child cannot be reaped before we return to the io_context.
  std::shared_ptr<Awaited> await(ProcessId child, OnExit on_exit);

  /// Calls once when nothing is below us any more: no child, hence, for a subreaper, no descendant.
  /// At once (through the io_context) if that is so already. A later call replaces an earlier one;
  /// an empty function takes it back.
  void when_childless(std::function<void()> call);

  [[nodiscard]] boost::asio::io_context& io();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace safelaunch::launch
