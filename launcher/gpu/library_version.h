#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::gpu {

/// "2.28.9" of "libnccl.so.2.28.9", "580.95.05" of "libcuda.so.580.95.05"; empty where the name has
/// fewer than three numbers behind ".so.".
[[nodiscard]] std::string version_in_file_name(std::string_view file);

/// "2.29.7" of "nvidia_nccl_cu13-2.29.7".
[[nodiscard]] std::string version_of_wheel(std::string_view wheel);

/// The names of the NCCL wheels that were installed into a packages folder
/// ("nvidia_nccl_cu13-2.29.7").
[[nodiscard]] std::vector<std::string> nccl_wheels_in(const std::string& packages);

/// What libnccl would print as its version, looked for in its first 32 MiB; empty where it is not
/// there.
[[nodiscard]] std::string nccl_version_inside(const std::string& path);

/// The version of a library, by the cheapest of these that tells it.
[[nodiscard]] std::string version_of_library(const std::string& path);

}  // namespace safelaunch::gpu
