#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/doctor/examine.h"

namespace safelaunch::doctor {

/// One theme that the doctor has looked at, and what it saw there.
struct LookedAt {
  std::string_view name;  ///< "python"
  std::string seen;       ///< "torch 2.13.0, NCCL 2.29.7"
  bool is_well = true;    ///< no finding above a note belongs to it
};

/// What `safelaunch doctor` has looked at, in one line a theme, so that a host without findings
/// shows that it was examined. A theme of which no fact was read is left out.
[[nodiscard]] std::vector<LookedAt> looked_at(const HostFacts& facts,
                                              std::span<const Advice> advices);

}  // namespace safelaunch::doctor
