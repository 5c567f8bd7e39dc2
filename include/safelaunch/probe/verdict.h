#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "safelaunch/probe/phase.h"

namespace safelaunch::probe {

/// All ranks have met, and their sum was right.
struct Works {
  double init_ms = 0;                  ///< of the rank that came last, so nobody's waiting is in it
  double first_all_reduce_ms = 0;      ///< likewise
  std::optional<double> bus_gb_per_s;  ///< of the slowest rank; none with one rank
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
  std::vector<int> ranks;  ///< that were in it; ranks further on only wait for them
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
