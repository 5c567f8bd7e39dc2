#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/job/command.h"

namespace safelaunch::plan {

/// A command as people type it behind safelaunch's options. Like torchrun's users they may name the
/// script alone, or a module behind `-m`.
struct TypedCommand {
  std::vector<std::string> words;
  bool is_module = false;  ///< -m: the first word names a Python module
  /// Safelaunch spawns the ranks. Python then writes without a buffer, as torchrun starts it, so
  /// that the lines of the ranks come when they are said.
  bool own_workers = false;
};

/// The command to execute. A module, and a Python file that is no program by itself, get the
/// environment's Python in front; any other command stays as it is. Errors: not_found, for a
/// Python file that is not there, or for no Python.
[[nodiscard]] Result<std::vector<std::string>> spelled_out(const TypedCommand& typed,
                                                           const Environment& environment);

/// The files that the command names and that are not there: its program, its script, the Python of
/// its launcher; a sentence each. A script behind a wrapper (`env -C`, `uv --directory`) or on
/// another host is not looked for: it may lie elsewhere.
[[nodiscard]] std::vector<std::string> missing_files(const job::Command& command,
                                                     const Environment& environment);

/// The Python that the environment has: PYTHON_EXEC, which torchrun reads too; the first python3 or
/// python of PATH; the one of VIRTUAL_ENV where that environment is set and not on PATH.
[[nodiscard]] Result<std::string> python_of(const Environment& environment);

}  // namespace safelaunch::plan
