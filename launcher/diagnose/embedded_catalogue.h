#pragma once

#include <span>

#include "safelaunch/base/embedded.h"

namespace safelaunch::diagnose {

/// The catalogue that is compiled in: one file, catalogue.yaml.
[[nodiscard]] std::span<const EmbeddedFile> embedded_catalogue();

}  // namespace safelaunch::diagnose
