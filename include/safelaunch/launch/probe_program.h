#pragma once

#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch {

/// The path of safelaunch-probe, which talks to drivers for us: $SAFELAUNCH_PROBE_PROGRAM, else
/// beside our own program, in ../libexec/safelaunch/, or where the build puts it. Error: not_found.
[[nodiscard]] Result<std::string> find_probe_program(const Environment& environment);

}  // namespace safelaunch
