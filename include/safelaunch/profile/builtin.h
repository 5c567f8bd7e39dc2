#pragma once

#include <span>

#include "safelaunch/base/embedded.h"

namespace safelaunch::profile {

/// The files of profiles/, compiled in, so that one copied executable has them.
[[nodiscard]] std::span<const EmbeddedFile> builtin_profiles();

}  // namespace safelaunch::profile
