#pragma once

#include <string>
#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/host/left_files.h"

namespace safelaunch::host {

/// Whether any process has a file open or mapped.
enum class Holder {
  nobody,
  somebody,
  untold,  ///< it is another user's file, or the file system or kernel does not tell
};

/// Asks the kernel, which knows the processes of all users and containers: it grants the lease of a
/// file only where nobody else has the file open or mapped. A process that opens the file in the
/// same moment waits for microseconds. Files on a network are not asked for, since their server may
/// be gone.
[[nodiscard]] Holder holder_of(const LeftFile& file);

/// The signs that files are not left over.
struct FileUse {
  /// The paths of files that are open or mapped, or beside which a process works.
  std::vector<std::string> used;
  std::vector<std::string> untold;  ///< the paths of which the kernel does not tell
  Duration oldest_python{};         ///< the age of our user's oldest Python process
  int compilers = 0;                ///< our user's processes of ninja, nvcc, cc1plus, …
  int unreadable = 0;               ///< our user's processes into which we could not look
};

/// Asks for the holders of the files. Where a file has none, looks at all processes that we may
/// read for those that may come back to it: Python, compilers, and processes in a lock's folder. It
/// costs some 5 µs a process.
[[nodiscard]] FileUse use_of(const std::vector<LeftFile>& files);

}  // namespace safelaunch::host
