#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::gpu {

/// The paths that the bytes of /etc/ld.so.cache give for a library's name, in the loader's order;
/// those for other machines among them. Empty for bytes that make no sense.
[[nodiscard]] std::vector<std::string> cached_paths(std::string_view cache,
                                                    std::string_view soname);

}  // namespace safelaunch::gpu
