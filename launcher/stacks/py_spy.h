#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/time.h"
#include "safelaunch/watch/python_stack.h"

/// The stacks of a Python that has no hook of ours, by py-spy where that is installed.
namespace safelaunch::stacks {

/// py-spy in our PATH, in that of the process, or beside its Python; empty: nowhere. A program that
/// others could have put there is not taken.
[[nodiscard]] std::string find_py_spy(int pid);

struct Dump {
  std::vector<watch::PythonThread> threads;  ///< the main thread first; empty: it could not be read
  std::string trouble;                       ///< why
};

/// Reads the output of `py-spy dump --json`; nullopt for what is none.
[[nodiscard]] std::optional<std::vector<watch::PythonThread>> read_dump(std::string_view json,
                                                                        int pid);

/// Lets py-spy read the process without stopping it (--nonblocking).
[[nodiscard]] Dump dump(const std::string& py_spy, int pid, Duration limit);

}  // namespace safelaunch::stacks
