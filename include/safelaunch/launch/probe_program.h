#pragma once

#include <filesystem>
#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::launch {

/// The path of safelaunch-probe, which talks to drivers for us: $SAFELAUNCH_PROBE_PROGRAM, else
/// beside our own program, in ../libexec/safelaunch/, or where the build puts it. Error: not_found,
/// also where others could have put another program there (trusted_path.h).
[[nodiscard]] Result<std::string> find_probe_program(const Environment& environment);

/// The same for the safelaunch at that path.
[[nodiscard]] Result<std::string> find_probe_program_of(const std::filesystem::path& program);

}  // namespace safelaunch::launch
