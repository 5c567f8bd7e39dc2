#pragma once

#include <filesystem>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::launch {

/// The file that a shell would execute for `word`: itself if it has a slash, else the first
/// executable file of that name in the environment's PATH. Errors: not_found, not_executable.
[[nodiscard]] Result<std::string> find_program(std::string_view word,
                                               const Environment& environment);

/// All executable files of that name in the environment's PATH, in its order.
[[nodiscard]] std::vector<std::string> programs_in_path(std::string_view name,
                                                        const Environment& environment);

/// The path of safelaunch-probe, which talks to drivers for us: $SAFELAUNCH_PROBE_PROGRAM, else
/// beside our own program, in ../libexec/safelaunch/, or in the build's place. Error: not_found,
/// also where others could have put another program there (trusted_path.h).
[[nodiscard]] Result<std::string> find_probe_program(const Environment& environment);

/// As above, for the safelaunch at path `program`.
[[nodiscard]] Result<std::string> find_probe_program_of(const std::filesystem::path& program);

}  // namespace safelaunch::launch
