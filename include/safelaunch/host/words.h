#pragma once

#include <cstdint>
#include <string>

#include "safelaunch/base/time.h"

namespace safelaunch::host {

/// The first words of a process's command line without its secrets, short enough for one line on a
/// screen; `otherwise` where it has none that we may read.
[[nodiscard]] std::string short_command_of(int pid, const std::string& otherwise);

/// "3h", "12min", "2 days": an age as a person says it, in its largest unit.
[[nodiscard]] std::string rough_age(Duration age);

/// "64 MiB", "23.5 GiB".
[[nodiscard]] std::string rough_size(std::uint64_t bytes);

}  // namespace safelaunch::host
