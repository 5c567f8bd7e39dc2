#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::nccl {

/// A version of NCCL. Its builds for other CUDAs write and do the same.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const Version&) const = default;
};

/// Reads "2.28.9", "2.28" or "2.28.9+cuda13.0"; nullopt where it is no version.
[[nodiscard]] std::optional<Version> parse_nccl_version(std::string_view text);

[[nodiscard]] std::string to_string(const Version& version);

/// From 2.23 on "Init START" is written before the bootstrap, and tells the rank of who waits in
/// it. Older ones write it afterwards; there "Using network" is the last word of who waits.
[[nodiscard]] bool starts_before_bootstrap(const Version& version);

/// The name under which this version says in its log that it has read a variable ("… set by
/// environment to …"); empty where it reads it without a word.
[[nodiscard]] std::string_view announced_as(std::string_view variable, const Version& version);

}  // namespace safelaunch::nccl
