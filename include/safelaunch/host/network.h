#pragma once

#include <string>
#include <vector>

namespace safelaunch::host {

/// The addresses of this host's interfaces, IPv4 and IPv6, without the loopback's.
[[nodiscard]] std::vector<std::string> local_addresses();

/// The models of the GPUs that the NVIDIA kernel module lists ("NVIDIA H100 80GB HBM3"). Reads
/// files of /proc; no driver is called, so it cannot hang on a sick one.
[[nodiscard]] std::vector<std::string> gpu_models();

}  // namespace safelaunch::host
