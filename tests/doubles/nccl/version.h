#pragma once

#include <compare>
#include <string>

namespace safelaunch::testing {

/// A release of NCCL: decides which lines are printed, and when.
struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;

  auto operator<=>(const NcclVersion&) const = default;
};

/// The release that is played: SAFELAUNCH_DOUBLE_NCCL, or torch 2.13's 2.29.7.
[[nodiscard]] const NcclVersion& played();

/// As ncclGetVersion gives it: 22809 for 2.28.9.
[[nodiscard]] int code_of(const NcclVersion& version);

[[nodiscard]] std::string text_of(const NcclVersion& version);

}  // namespace safelaunch::testing
