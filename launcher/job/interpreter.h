#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "command_line.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// Whether the word starts an interpreter: "python", "python3.11", "/opt/env/bin/pypy3".
[[nodiscard]] bool is_python(std::string_view word);

/// The interpreter that a script's first lines name. The script is given by its path or by a name
/// to be found in PATH. nullopt where no such line can be read.
[[nodiscard]] std::optional<std::string> interpreter_of(const std::string& program,
                                                        const Variables& variables,
                                                        const FileReader& read_file);

}  // namespace safelaunch::job
