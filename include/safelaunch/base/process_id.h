#pragma once

#include <cstdint>
#include <functional>

namespace safelaunch {

/// A process, once and for all: pids are reused within minutes on a busy host, a pid together with
/// its start time is not. `start_ticks` is field 22 of /proc/PID/stat (clock ticks since boot).
struct ProcessId {
  int pid = 0;
  std::uint64_t start_ticks = 0;
  auto operator<=>(const ProcessId&) const = default;
};

}  // namespace safelaunch
