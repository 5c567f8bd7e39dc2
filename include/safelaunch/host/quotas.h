#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::host {

/// What our cgroups (a container, a Slurm job) and the host leave us. nullopt: not limited, or not
/// told.
struct Quotas {
  std::optional<std::uint64_t> memory_limit;  ///< bytes: the tightest of our cgroup and those above
  std::optional<std::uint64_t> memory_left;  ///< bytes that may still be taken, page cache included
  std::string memory_file;                   ///< where the tightest limit stands
  std::optional<double> cpus;
  std::optional<std::int64_t> processes_left;  ///< processes and threads
  bool operator==(const Quotas&) const = default;
};

[[nodiscard]] Quotas read_quotas();

/// The bytes of a limit's file: "max" and version 1's huge number are none.
[[nodiscard]] std::optional<std::uint64_t> parse_byte_limit(std::string_view text);

/// The CPUs of "150000 100000" (version 2's cpu.max; version 1's quota and period alike); nullopt
/// for "max …" and "-1 …".
[[nodiscard]] std::optional<double> parse_cpu_quota(std::string_view text);

/// The value of a line "NAME value" in memory.stat, or of "NAME:  value kB" in /proc/meminfo, in
/// bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_memory_line(std::string_view text,
                                                             std::string_view name);

}  // namespace safelaunch::host
