#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/probe/tournament.h"
#include "safelaunch/profile/remembered.h"

/// The measurements of `safelaunch probe` on a host, kept for later runs: the cost of a fallback
/// is then measured, not estimated.
namespace safelaunch::probe {

struct MeasuredHost {
  profile::HostKey key;    ///< with NCCL's version; whatever Python: it changes no bandwidth
  profile::WallTime when;  ///< of the last measurement
  std::map<std::string, double, std::less<>> bus_gb_per_s;  ///< profile → what all_reduce reached
  bool operator==(const MeasuredHost&) const = default;
};

/// With the results of a tournament. What was measured before stays where it is of the same host
/// and younger than a week.
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
