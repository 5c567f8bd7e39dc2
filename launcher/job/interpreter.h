#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "safelaunch/job/command.h"
#include "variables.h"

namespace safelaunch::job {

/// "python", "python3.11", "/opt/env/bin/pypy3": does this word start an interpreter?
[[nodiscard]] bool is_python(std::string_view word);

/// The interpreter that a script's first lines name, for a script given by path or to be looked for
/// in PATH; nullopt where there is none to be read.
[[nodiscard]] std::optional<std::string> interpreter_of(const std::string& program,
                                                        const Variables& variables,
                                                        const FileReader& read_file);

}  // namespace safelaunch::job
