#pragma once

#include <string>
#include <vector>

namespace safelaunch::host {

/// The frames of the main thread of a CPython from 3.10 to 3.13, read from its memory while it goes
/// on: it need not answer, may hold the GIL or be stopped, and notices nothing. "file:line
/// function", the innermost last. Empty: it is no such Python, has no frame, or the kernel does not
/// let us look (it lets root and, where kernel.yama.ptrace_scope is 1, an ancestor). A process that
/// changes its frames meanwhile may give a mixture of both.
[[nodiscard]] std::vector<std::string> python_frames(int pid);

}  // namespace safelaunch::host
