#pragma once

#include <string>
#include <vector>

namespace safelaunch::watch {

/// One thread of a Python process, as the hook reports it.
struct PythonThread {
  std::string name;
  std::vector<std::string> frames;  ///< "file:line function", the innermost last
};

/// How much of a place is told.
enum class Detail {
  users,         ///< the user's frame and its call: the same for all turns of a framework's loop
  with_package,  ///< and where in its package that call is: "short.py:36 main → train →
                 ///< loops.py:372 run_iter"; torch is no such package
};

/// The place of a process, in one line for the screen: the user's innermost frame and the last call
/// that is worth a word, as in "train.py:40 never_reaches_init → init_process_group". Empty
/// where there is no frame at all.
///
/// The user's code is what lies outside site-packages, Python's own library and the hook. The main
/// thread is asked; where it has no user's code (a launcher's loop), the first thread that has.
[[nodiscard]] std::string summarize(const std::vector<PythonThread>& threads,
                                    Detail detail = Detail::users);

/// All threads with all frames, one a line.
[[nodiscard]] std::string all_frames(const std::vector<PythonThread>& threads);

}  // namespace safelaunch::watch
