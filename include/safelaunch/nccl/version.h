#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::nccl {

/// A version of NCCL. Builds of one version for different CUDAs write and do the same.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const Version&) const = default;
};

/// Reads "2.28.9", "2.28" or "2.28.9+cuda13.0"; nullopt where it is no version.
[[nodiscard]] std::optional<Version> parse_nccl_version(std::string_view text);

[[nodiscard]] std::string to_string(const Version& version);

/// True from 2.23 on: "Init START" is written before the bootstrap, and tells the rank of a process
/// that waits in it. Older versions write it afterwards, so "Using network" is the last line of a
/// process that waits.
[[nodiscard]] bool starts_before_bootstrap(const Version& version);

/// The name under which this version of NCCL tells in its log that it has read a variable ("… set
/// by environment to …"); empty where it reads the variable without a word.
[[nodiscard]] std::string_view announced_as(std::string_view variable, const Version& version);

}  // namespace safelaunch::nccl
