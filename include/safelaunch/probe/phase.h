#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::probe {

/// The phases of one rank of the probe, in this order.
enum class Phase {
  driver,            ///< libcuda is loaded, cuInit has returned, the device is there
  context,           ///< the device's primary context, and memory for the buffers
  library,           ///< the job's libnccl is loaded
  unique_id,         ///< rank 0 has made the communicator's id, the others have been given it
  init,              ///< the communicator is made
  first_all_reduce,  ///< 4 bytes; with cuMem NCCL connects only here
  checked,           ///< and the sum is right
  bandwidth,         ///< 64 MiB, timed
};
inline constexpr int kProbePhaseCount = 8;

/// "driver", "first_all_reduce", …: as the probe writes it.
[[nodiscard]] const char* name(Phase phase);
[[nodiscard]] std::optional<Phase> probe_phase(std::string_view word);

/// The result of a phase.
enum class PhaseResult {
  done,
  failed,
  declined,  ///< the probe would have disturbed somebody, or cannot tell
};

/// One line of a rank of safelaunch-probe.
struct PhaseReport {
  Phase phase = Phase::driver;
  PhaseResult result = PhaseResult::done;
  double ms = 0;                   ///< how long the phase took
  std::string words;               ///< failed, declined: why
  std::string id;                  ///< unique_id, rank 0: for the others
  std::string device;              ///< driver: the GPU's name
  std::string nccl;                ///< library: its version
  std::optional<double> gb_per_s;  ///< bandwidth: bytes of one all_reduce over its time
};

/// Reads a line; nullopt for what is none. It comes out of a process that a sick driver may have
/// written into, so nothing of it is trusted.
[[nodiscard]] std::optional<PhaseReport> parse_phase_report(std::string_view line);

}  // namespace safelaunch::probe
