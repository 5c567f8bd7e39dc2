#pragma once

#include <string>
#include <string_view>

namespace safelaunch::testing {

/// NCCL's subsystems, with the bits that NCCL_DEBUG_SUBSYS names.
enum class Subsystem : unsigned {
  init = 1U << 0,
  coll = 1U << 1,
  p2p = 1U << 2,
  shm = 1U << 3,
  net = 1U << 4,
  graph = 1U << 5,
  tuning = 1U << 6,
  env = 1U << 7,
  alloc = 1U << 8,
  call = 1U << 9,
  proxy = 1U << 10,
  nvls = 1U << 11,
  bootstrap = 1U << 12,
  reg = 1U << 13,
  profile = 1U << 14,
  ras = 1U << 15,
  all = ~0U,
};

/// The thread of NCCL that speaks. The double has not all of them; a line carries a thread id of
/// its own.
enum class Voice { caller, proxy, uds, progress, root };

/// A line to NCCL_DEBUG_FILE (or stdout), if NCCL_DEBUG and NCCL_DEBUG_SUBSYS ask for it.
void log_info(Subsystem subsystem, int device, std::string_view text, Voice voice = Voice::caller);

/// A WARN from `place` ("init.cc:904"); kept as the last error whether or not it is printed.
void log_warn(int device, std::string_view place, std::string_view text,
              Voice voice = Voice::caller);

/// The text of the last WARN, for ncclGetLastError.
[[nodiscard]] const char* last_error();

}  // namespace safelaunch::testing
