#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::profile {

/// $XDG_STATE_HOME/safelaunch/NAME, else ~/.local/state/safelaunch/NAME; empty where there is no
/// home.
[[nodiscard]] std::string state_file(const Environment& environment, std::string_view name);

/// Writes a file so that whoever reads sees the old one or the new one, never a part. Makes the
/// folders (0700) and the file (0600). Of two that write at once the later one stays.
[[nodiscard]] Result<> replace_private_file(const std::string& path, std::string_view text);

}  // namespace safelaunch::profile
