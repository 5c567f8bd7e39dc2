#pragma once

#include <span>
#include <string_view>

namespace safelaunch::profile {

/// A variable that NCCL reads and that needs no explaining here: it is in the list so that a right
/// name is never taken for a misspelt one.
struct NcclVariable {
  std::string_view name;
  std::string_view since;  ///< NCCL's version; empty: 2.3 or before
  std::string_view until;  ///< the first version without it; empty: still there in 2.30
};

/// All of them, from the sources of NCCL 2.3 to 2.30, sorted by name.
[[nodiscard]] std::span<const NcclVariable> nccl_variables();

}  // namespace safelaunch::profile
