#pragma once

#include <functional>
#include <optional>
#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/gpu/drain.h"
#include "safelaunch/gpu/gpu_reader.h"

namespace safelaunch {

/// The memory of the host's GPUs over a run: what was in use before it, and waiting for that again
/// between two attempts, since the driver takes memory back after the processes are gone. Where
/// there is no GPU, nothing is asked and nothing waited for.
class GpuMemory {
 public:
  /// Asks at once what is in use, in a process of its own.
  GpuMemory(boost::asio::io_context& io, Reaper& reaper, const Environment& environment);

  /// Calls once, through the io_context; `why` is empty unless the memory did not come back.
  void when_back(std::function<void(const std::string& why)> then);

 private:
  boost::asio::io_context& io_;
  Reaper& reaper_;
  GpuQuery query_;
  GpuFacts before_;
  GpuReading reading_;
  std::optional<DrainWait> wait_;
};

}  // namespace safelaunch
