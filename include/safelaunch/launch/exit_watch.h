#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "safelaunch/base/exit_status.h"
#include "safelaunch/base/process_id.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {

/// Watches a process that is not our child, as a rank under torchrun is, and calls once when it has
/// ended; at once (through the io_context) where that is so already. The status is read off the
/// zombie, or, where its parent was quicker, asked of the kernel (since Linux 6.15), or unknown.
/// Where we have no descriptor to spare, the watch begins as soon as there is one.
/// Destroying it before ends the watching.
class ExitWatch {
 public:
  using OnExit = std::function<void(std::optional<ExitStatus>)>;

  ExitWatch(boost::asio::io_context& io, ProcessId process, OnExit on_exit);
  ExitWatch(ExitWatch&&) noexcept;
  ExitWatch& operator=(ExitWatch&&) noexcept;
  ~ExitWatch();

 private:
  struct Watch;
  std::shared_ptr<Watch> watch_;
};

}  // namespace safelaunch::launch
