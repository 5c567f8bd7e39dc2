#pragma once

#include <functional>
#include <optional>
#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/gpu/drain.h"
#include "safelaunch/gpu/reader.h"

namespace safelaunch::run {

/// The memory of the host's GPUs over a run: what was in use before it, and waiting for that again
/// between two attempts, since the driver takes memory back after the processes are gone. Where
/// there is no GPU, nothing is asked and nothing waited for.
class GpuMemory {
 public:
  /// Asks at once what is in use, in a process of its own.
  GpuMemory(boost::asio::io_context& io, launch::Reaper& reaper, const Environment& environment);

  /// Calls once, through the io_context; `why` is empty unless the memory did not come back.
  void when_back(std::function<void(const std::string& why)> then);

 private:
  boost::asio::io_context& io_;
  launch::Reaper& reaper_;
  gpu::Query query_;
  gpu::Facts before_;
  gpu::Reading reading_;
  std::optional<gpu::DrainWait> wait_;
};

}  // namespace safelaunch::run
