#pragma once

#include <string>
#include <string_view>

namespace safelaunch::report {

/// The bytes as a gzip file.
[[nodiscard]] std::string gzip(std::string_view bytes);

}  // namespace safelaunch::report
