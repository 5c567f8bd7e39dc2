#pragma once

#include <cstddef>
#include <string>

namespace safelaunch {

/// The first bytes of a file on a disk, at most `limit`; empty where it cannot be read.
[[nodiscard]] std::string file_text(const std::string& path, std::size_t limit);

}  // namespace safelaunch
