#pragma once

#include <filesystem>
#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::run {

/// The way in for the hooks of one attempt, and for NCCL's plugins. Each attempt has its own socket
/// and token, so that a process of an earlier one cannot speak in it.
struct HookDoor {
  std::filesystem::path hook;    ///< the folder of its Python files; empty: none
  std::filesystem::path plugin;  ///< the library; empty: none
  std::string socket;            ///< "@safelaunch/…", in the abstract namespace
  std::string token;
};

/// Who is to come in.
struct HookGuests {
  bool hook = true;
  bool plugin = true;
};

/// $XDG_CACHE_HOME/safelaunch, else ~/.cache/safelaunch; empty where there is neither.
[[nodiscard]] std::filesystem::path cache_directory(const Environment& environment);

/// Installs hook and plugin below $XDG_CACHE_HOME/safelaunch (else ~/.cache/safelaunch), or below
/// `otherwise` where that cannot be written, and makes up a new door. Errors: neither place can be
/// written.
[[nodiscard]] Result<HookDoor> open_hook_door(HookGuests guests, const Environment& environment,
                                              const std::filesystem::path& otherwise);

}  // namespace safelaunch::run
