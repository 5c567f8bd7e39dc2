#pragma once

#include <string>
#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/host/left_files.h"

namespace safelaunch::host {

/// Who has a file open or mapped.
enum class Holder {
  nobody,
  somebody,
  untold,  ///< another user's file, or a file system or kernel that does not tell
};

/// Asks the kernel, which knows all that run on it, whichever user's and container's they are: it
/// grants the lease of a file only where nobody else has it open or mapped. Whoever opens the file
/// in the same moment waits for microseconds. Not for files on a network, whose server may be gone.
[[nodiscard]] Holder holder_of(const LeftFile& file);

/// What speaks against a file being left over.
struct FileUse {
  std::vector<std::string> used;    ///< of the paths asked for: open, mapped, or worked beside
  std::vector<std::string> untold;  ///< of the others: those of which the kernel does not tell
  Duration oldest_python{};         ///< age of our user's oldest Python process
  int compilers = 0;                ///< of our user: ninja, nvcc, cc1plus, …
  int unreadable = 0;               ///< processes of our user into which we could not look
};

/// Asks for the holders of the files. Where one has none, looks through all processes that we may
/// read for those that may come back to it: Python, compilers, and who works in a lock's folder.
/// Costs some 5 µs a process.
[[nodiscard]] FileUse use_of(const std::vector<LeftFile>& files);

}  // namespace safelaunch::host
