#pragma once

#include <functional>
#include <memory>

#include "safelaunch/base/process.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {

/// Watches a process that is not our child, such as a rank under torchrun, and calls once when it
/// has ended; at once (through the io_context) where it has ended already. The status comes from
/// the zombie, or, where its parent was quicker, from the kernel (since Linux 6.15), or stays
/// unknown. Where we have no descriptor to spare, the watch begins as soon as there is one. To
/// destroy the object ends the watch.
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
