#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::job {

/// A host of deepspeed's resource pool, and how many of its slots are used.
struct HostSlots {
  std::string host;
  std::vector<int> slots;
};

/// Reads `HOST slots=N` lines; nullopt where deepspeed would refuse the file (a host named twice,
/// no host at all, any other text).
[[nodiscard]] std::optional<std::vector<HostSlots>> parse_hostfile(std::string_view text);

/// Keeps the hosts and slots that `--include` names, or drops those that `--exclude` names:
/// `HOST[:SLOT,…][@HOST…]`.
[[nodiscard]] std::vector<HostSlots> include_hosts(std::vector<HostSlots> pool,
                                                   std::string_view filter);
[[nodiscard]] std::vector<HostSlots> exclude_hosts(std::vector<HostSlots> pool,
                                                   std::string_view filter);

/// The hosts of a filter by itself, without a pool: `localhost:0,1` uses two slots.
[[nodiscard]] std::vector<HostSlots> parse_host_filter(std::string_view filter);

}  // namespace safelaunch::job
