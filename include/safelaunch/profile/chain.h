#pragma once

#include <span>

#include "safelaunch/base/result.h"
#include "safelaunch/profile/profile.h"

namespace safelaunch::profile {

/// The chain where neither --profile nor a cluster rule gives one: from the fastest settings to the
/// surest.
[[nodiscard]] std::vector<std::string> default_chain();

/// The chain that words name, which may each be several with commas between them. A profile that is
/// named twice counts once, since nothing is tried twice. Error: an empty name.
[[nodiscard]] Result<std::vector<std::string>> parse_chain(std::span<const std::string> words);

/// A profile that would have come before the chosen one, and why it was left out.
struct StruckOut {
  std::string name;
  std::string why;
  bool operator==(const StruckOut&) const = default;
};

/// All that is known when the next profile is chosen.
struct ChainState {
  std::span<const Profile> chain;
  /// All profiles there are, for healers outside the chain; may be empty.
  std::span<const Profile> known;
  std::span<const std::string> tried;  ///< the names of the profiles that were tried
  std::string_view cause;              ///< a catalogue id; empty: no cause is known
  int nodes = 1;
  /// Profiles that cannot help, by what else is known of the job.
  std::span<const StruckOut> hopeless = {};
};

/// The profile to try next; none where all have been tried or struck out.
struct NextProfile {
  const Profile* profile = nullptr;  ///< points into the ChainState
  std::string why;                   ///< "heals shm-small", "next in the chain"
  std::vector<StruckOut> struck_out;
};

/// Chooses: first what heals the cause (of the chain, then of the rest, cheapest first), then the
/// chain in its order. Left out are the profiles that were tried, that worsen the cause or that
/// cannot work on so many nodes, and slow ones where they are refused.
[[nodiscard]] NextProfile next_profile(const ChainState& state);

}  // namespace safelaunch::profile
