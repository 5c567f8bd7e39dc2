#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
  std::string words;               ///< failed, declined: the reason
  std::string id;                  ///< unique_id, rank 0: the id for the others
  std::string device;              ///< driver: the GPU's name
  std::string nccl;                ///< library: its version
  std::optional<double> gb_per_s;  ///< bandwidth: bytes of one all_reduce over its time
};

/// Whether a text can be the id of a communicator, as to_hex() writes it: it goes to other ranks
/// and nodes as it is. An empty one is none.
[[nodiscard]] bool is_unique_id(std::string_view text);

/// Reads a line; nullopt for what is none. It comes out of a process that a sick driver may have
/// written into, so nothing of it is trusted.
[[nodiscard]] std::optional<PhaseReport> parse_phase_report(std::string_view line);

/// All ranks have met, and their sum was right.
struct Works {
  double init_ms = 0;  ///< the init time of the rank that came last, so nobody's waiting is in it
  double first_all_reduce_ms = 0;      ///< the time of the first all_reduce, of that rank too
  std::optional<double> bus_gb_per_s;  ///< the bandwidth of the slowest rank; none with one rank
  bool operator==(const Works&) const = default;
};

/// The words of one rank that failed, or the way in which it ended.
struct RankFailure {
  int rank = 0;
  Phase phase = Phase::driver;
  std::string words;
  bool operator==(const RankFailure&) const = default;
};

/// At least one rank failed; the first to do so comes first.
struct Failed {
  std::vector<RankFailure> failures;
  bool operator==(const Failed&) const = default;
};

/// A phase was not over within its deadline.
struct Hung {
  Phase phase = Phase::driver;
  /// The ranks that were in the phase; ranks further on only wait for them.
  std::vector<int> ranks;
  bool operator==(const Hung&) const = default;
};

/// Nothing can be said: a probe would have disturbed somebody, or was stopped.
struct Untold {
  std::string why;
  bool operator==(const Untold&) const = default;
};

/// The result of probing one profile.
using Verdict = std::variant<Works, Failed, Hung, Untold>;

/// The phase at which the probe failed or hung.
[[nodiscard]] std::optional<Phase> stopped_at(const Verdict& verdict);

/// "driver ✓ device ✓ nccl ✓ init ✗": how far it came. With one rank all_reduce is not shown, since
/// a rank alone meets nobody.
[[nodiscard]] std::string steps(const Verdict& verdict, int ranks);

/// Why it does not work, in one line: "ranks 0 1: no answer within its time", "rank 1: …"; empty
/// where it works.
[[nodiscard]] std::string reason(const Verdict& verdict);

/// The bandwidth of each link that an all_reduce of that speed keeps busy, as nccl-tests define it
/// (NVIDIA/nccl-tests, doc/PERFORMANCE.md): it does not depend on the number of ranks, so it can be
/// compared with what the hardware could do. Each of n ranks sends and receives 2(n-1)/n times the
/// data. None for one rank.
[[nodiscard]] std::optional<double> bus_bandwidth(double gb_per_s, int ranks);

}  // namespace safelaunch::probe
