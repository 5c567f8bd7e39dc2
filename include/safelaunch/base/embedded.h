#pragma once

#include <span>
#include <string_view>

namespace safelaunch {

/// One file that was compiled into the executable (cmake/SafelaunchEmbed.cmake).
struct EmbeddedFile {
  std::string_view path;  ///< relative, as in the source tree
  std::string_view text;
};

}  // namespace safelaunch
