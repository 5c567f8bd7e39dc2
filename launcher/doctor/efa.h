#pragma once

#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/host/infiniband.h"

/// Amazon's adapters (EFA): verbs that NCCL itself does not speak.
namespace safelaunch::doctor {

[[nodiscard]] bool has_efa(const host::Infiniband& infiniband);

/// The libraries of which NCCL opens the first that is there, as its network; none where
/// NCCL_NET_PLUGIN forbids it.
[[nodiscard]] std::vector<std::string> network_plugin_names(const Environment& environment);

}  // namespace safelaunch::doctor
