#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "command_line.h"

namespace safelaunch::job {

/// The command behind words such as `nice -n 5 env A=1 uv run`.
struct Unwrapped {
  std::size_t program = 0;    ///< the first word of the real command; argv.size() if there is none
  bool runs_module = false;   ///< `uv run -m`: the program word is the name of a module
  bool other_python = false;  ///< the wrapper has a PATH and an interpreter of its own
};

/// Steps over the wrapper words at the begin of a command, and changes `variables` as `env` would.
[[nodiscard]] Unwrapped unwrap(std::span<const std::string> argv, Variables& variables);

}  // namespace safelaunch::job
