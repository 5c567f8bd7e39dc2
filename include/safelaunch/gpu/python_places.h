#pragma once

#include <vector>

#include "safelaunch/base/environment.h"

namespace safelaunch::gpu {

/// The places from which a Python would import, read off its files. Python itself is never started:
/// that costs 20 ms at best, and seconds on a network file system.
struct PythonPlaces {
  /// The interpreter's file, with its links kept; empty where there is none.
  std::string interpreter;
  std::string prefix;                 ///< the folder of its environment (venv, conda, /usr)
  std::vector<std::string> packages;  ///< the folders that exist, in the order of sys.path
};

/// Finds the places of the interpreter that exec would start for `word` in this environment:
/// PYTHONPATH, the user's own packages, those of the virtual environment, and those of the system
/// where the environment lets them in. Folders that .pth files add are not followed.
[[nodiscard]] PythonPlaces python_places(std::string_view word, const Environment& environment);

}  // namespace safelaunch::gpu
