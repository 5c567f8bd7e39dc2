#pragma once

#include <filesystem>
#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch {

/// The way in for the hooks of one attempt. Each attempt has its own socket and token, so that a
/// process of an earlier one cannot speak in it.
struct HookDoor {
  std::filesystem::path directory;  ///< of the hook's Python files
  std::string socket;               ///< "@safelaunch/…", in the abstract namespace
  std::string token;
};

/// Installs the hook below $XDG_CACHE_HOME/safelaunch (else ~/.cache/safelaunch), or below
/// `otherwise` where that cannot be written, and makes up a new door. Errors: neither place can be
/// written.
[[nodiscard]] Result<HookDoor> open_hook_door(const Environment& environment,
                                              const std::filesystem::path& otherwise);

}  // namespace safelaunch
