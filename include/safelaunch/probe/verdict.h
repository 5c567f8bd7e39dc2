#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "safelaunch/probe/phase.h"

namespace safelaunch {

/// All ranks have met, and their sum was right.
struct ProbeWorks {
  double init_ms = 0;                  ///< of the rank that came last, so nobody's waiting is in it
  double first_all_reduce_ms = 0;      ///< likewise
  std::optional<double> bus_gb_per_s;  ///< of the slowest rank; none with one rank
  bool operator==(const ProbeWorks&) const = default;
};

/// What one rank said, or how it ended.
struct RankFailure {
  int rank = 0;
  ProbePhase phase = ProbePhase::driver;
  std::string words;
  bool operator==(const RankFailure&) const = default;
};

/// At least one rank failed; the first to do so comes first.
struct ProbeFailed {
  std::vector<RankFailure> failures;
  bool operator==(const ProbeFailed&) const = default;
};

/// A phase was not over within its deadline.
struct ProbeHung {
  ProbePhase phase = ProbePhase::driver;
  std::vector<int> ranks;  ///< that were in it; ranks further on only wait for them
  bool operator==(const ProbeHung&) const = default;
};

/// Nothing can be said: a probe would have disturbed somebody, or was stopped.
struct ProbeUntold {
  std::string why;
  bool operator==(const ProbeUntold&) const = default;
};

/// What a probe of one profile has come to.
using ProbeVerdict = std::variant<ProbeWorks, ProbeFailed, ProbeHung, ProbeUntold>;

/// The phase at which it failed or hung.
[[nodiscard]] std::optional<ProbePhase> stopped_at(const ProbeVerdict& verdict);

/// "driver ✓ device ✓ nccl ✓ init ✗": how far it came. With one rank all_reduce is not shown, since
/// a rank alone meets nobody.
[[nodiscard]] std::string steps(const ProbeVerdict& verdict, int ranks);

/// Why it does not work, in one line: "ranks 0 1: no answer within its time", "rank 1: …"; empty
/// where it works.
[[nodiscard]] std::string reason(const ProbeVerdict& verdict);

/// The bandwidth of each link that an all_reduce of that speed keeps busy, as nccl-tests define it
/// (NVIDIA/nccl-tests, doc/PERFORMANCE.md): it does not depend on the number of ranks, so it can be
/// compared with what the hardware could do. Each of n ranks sends and receives 2(n-1)/n times the
/// data. None for one rank.
[[nodiscard]] std::optional<double> bus_bandwidth(double gb_per_s, int ranks);

}  // namespace safelaunch
