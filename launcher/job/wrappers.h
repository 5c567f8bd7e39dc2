#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "variables.h"

namespace safelaunch::job {

/// What stands behind words such as `nice -n 5 env A=1 uv run`.
struct Unwrapped {
  std::size_t program = 0;    ///< the first word of the real command; argv.size() if there is none
  bool runs_module = false;   ///< `uv run -m`: the program word is the name of a module
  bool other_python = false;  ///< the wrapper brings its own PATH and interpreter
};

/// Steps over the wrapper words at the begin of a command and applies to `variables` what `env`
/// would.
[[nodiscard]] Unwrapped unwrap(std::span<const std::string> argv, Variables& variables);

}  // namespace safelaunch::job
