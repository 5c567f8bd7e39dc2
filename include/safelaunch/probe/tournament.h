#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/probe/verdict.h"

namespace safelaunch::probe {

/// A profile and what its probe came to.
struct ProbedProfile {
  std::string profile;
  Verdict verdict;
  std::string cause;  ///< a catalogue id that NCCL's lines show; empty: none
};

/// Bandwidths closer than this are the same. On a quiet host they differ by a few per cent from run
/// to run, on a busy one by more; what a profile takes away (NVLink, P2P, shared memory) is a
/// factor.
inline constexpr double kBandwidthNoise = 0.25;

/// The profile to use: the fastest by measured bandwidth, and of those that are as fast the one
/// that stands first, since the chain goes from the least changed settings on. Its index; nullopt
/// where none works.
[[nodiscard]] std::optional<std::size_t> winner(std::span<const ProbedProfile> probed);

/// How many times slower all_reduce is under `other`; nullopt where either was not measured.
[[nodiscard]] std::optional<double> cost_ratio(const Verdict& base, const Verdict& other);

/// The conclusion from a tournament.
struct Conclusion {
  std::string profile;   ///< the profile to use; empty: none works
  std::string sentence;  ///< "cumem-host works; basic does not (…)"
  std::string use;       ///< the line to type; empty where there is none
};

/// `ranks` is how many took part: one rank alone meets nobody, so little can be told of it.
[[nodiscard]] Conclusion conclude(std::span<const ProbedProfile> probed, int ranks);

}  // namespace safelaunch::probe
