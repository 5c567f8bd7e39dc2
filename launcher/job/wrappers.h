#pragma once

#include <cstddef>
#include <span>

#include "command_line.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// The command behind words such as `nice -n 5 env A=1 uv run`.
struct Unwrapped {
  std::size_t program = 0;    ///< the first word of the real command; argv.size() if there is none
  bool runs_module = false;   ///< `uv run -m`: the program word is the name of a module
  bool other_python = false;  ///< the wrapper has a PATH and an interpreter of its own
  std::string directory;      ///< `env -C`: the command is run in it; empty: where we are
};

/// The path as it is seen from a directory; an absolute path stays as it is.
[[nodiscard]] std::string below(std::string_view directory, std::string_view path);

/// Steps over the wrapper words at the begin of a command, and changes `variables` as `env` would.
[[nodiscard]] Unwrapped unwrap(std::span<const std::string> argv, Variables& variables);

/// Whether the word starts an interpreter: "python", "python3.11", "/opt/env/bin/pypy3".
[[nodiscard]] bool is_python(std::string_view word);

/// The interpreter that a script's first lines name. The script is given by its path or by a name
/// to be found in PATH. nullopt where no such line can be read.
[[nodiscard]] std::optional<std::string> interpreter_of(const std::string& program,
                                                        const Variables& variables,
                                                        const FileReader& read_file);

}  // namespace safelaunch::job
