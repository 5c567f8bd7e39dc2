#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/probe/verdict.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/profile/remembered.h"

namespace safelaunch::probe {

/// The profiles in the order in which they are probed: those of the chain first, as they stand in
/// it, then the others. The order matters because of equals the first wins.
[[nodiscard]] std::vector<profile::Profile> chain_first(std::vector<profile::Profile> profiles,
                                                        std::span<const std::string> chain);

/// A profile as it enters the tournament.
struct Entrant {
  std::string name;
  profile::Backend backend = profile::Backend::keep;
  std::optional<int> processes;  ///< processes a node, where the profile says how many
  Environment environment;       ///< the environment of the ranks under this profile
};

/// Why a profile need not be probed; empty where it has to be. `earlier` are those before it.
[[nodiscard]] std::string reason_not_to_probe(const Entrant& entrant,
                                              std::span<const Entrant> earlier);

/// A profile and the result of its probe.
struct ProbedProfile {
  std::string profile;
  Verdict verdict;
  std::string cause;  ///< a catalogue id that NCCL's lines show; empty: none
};

/// Bandwidths closer than this are the same. On a quiet host they differ by a few per cent from run
/// to run, on a busy one by more; a profile that takes NVLink, P2P or shared memory away changes
/// them by a factor.
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

/// The exit status of `safelaunch probe`: 0 where a profile works, 1 where one failed, 124 where
/// all hung, 69 where nothing could be told.
[[nodiscard]] int exit_code_for(std::span<const ProbedProfile> probed);

/// Whether the bandwidths are those of the links between GPUs, and so worth keeping for later runs:
/// one rank uses no link, and ranks that share a GPU measure none.
[[nodiscard]] bool measures_links(int ranks, int gpus);

// The measurements of `safelaunch probe` on a host, kept for later runs: the cost of a fallback
// is then measured, not estimated.

struct MeasuredHost {
  /// The host, with NCCL's version; Python does not count, since it changes no bandwidth.
  profile::HostKey key;
  profile::WallTime when;  ///< the time of the last measurement
  /// Profile → the bandwidth that all_reduce reached.
  std::map<std::string, double, std::less<>> bus_gb_per_s;
  bool operator==(const MeasuredHost&) const = default;
};

/// The measurements with the results of a tournament added. Earlier ones stay where they are of the
/// same host and younger than a week.
[[nodiscard]] MeasuredHost with_results(std::optional<MeasuredHost> before,
                                        const profile::HostKey& key,
                                        std::span<const ProbedProfile> probed,
                                        profile::WallTime now);

/// "4.0 times slower than basic, as the probe has measured"; nullopt where the two were not both
/// measured with this NCCL on this host, within the last week, or the job has no NCCL.
[[nodiscard]] std::optional<std::string> measured_cost(const MeasuredHost& host,
                                                       const profile::HostKey& key,
                                                       profile::WallTime now, std::string_view from,
                                                       std::string_view to);

/// As text (JSON), and back; nullopt for what is none of ours.
[[nodiscard]] std::string format_measured(const MeasuredHost& host);
[[nodiscard]] std::optional<MeasuredHost> parse_measured(std::string_view text);

/// One file a host, since a home folder may be that of many; empty where there is no home.
[[nodiscard]] std::string measured_file(const Environment& environment, std::string_view hostname);
[[nodiscard]] std::optional<MeasuredHost> load_measured(const std::string& path);
[[nodiscard]] Result<> save_measured(const std::string& path, const MeasuredHost& host);

}  // namespace safelaunch::probe
