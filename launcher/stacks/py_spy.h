#pragma once

#include <cstddef>
#include <functional>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/time.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/stacks/place.h"
#include "safelaunch/watch/python_stack.h"

/// The stacks of a Python that has no hook of ours: by py-spy where that is installed, since it
/// shows every thread, else the main thread's from its memory.
namespace safelaunch::stacks {

/// The facts of a Python process of ours that tell where its py-spy may be.
struct PythonStart {
  Environment environment;
  std::vector<std::string> words;  ///< the words of its command line
};

/// py-spy in our PATH, in that of the process, or beside its Python; empty: nowhere. A program that
/// others could have put there is not taken. `its`: nullopt for another user's process, since root
/// runs nothing from where that says.
[[nodiscard]] std::string find_py_spy(const Environment& own,
                                      const std::optional<PythonStart>& its);
[[nodiscard]] std::string find_py_spy(int pid);

struct Dump {
  std::vector<watch::PythonThread> threads;  ///< the main thread first; empty: it could not be read
  std::string trouble;                       ///< the reason why it could not be read
};

/// Reads the output of `py-spy dump --json`; nullopt for what is none.
[[nodiscard]] std::optional<std::vector<watch::PythonThread>> read_dump(std::string_view json,
                                                                        int pid);

/// Why py-spy has told nothing. `ptrace_scope`: the kernel's setting, "" where it has none.
[[nodiscard]] std::string why_not(const launch::HelperEnd& end, std::string_view ptrace_scope);

/// Lets py-spy read the process without stopping it (--nonblocking).
[[nodiscard]] Dump dump(const std::string& py_spy, int pid, Duration limit);

/// Reads the places of Pythons, one after the other. After the first refusal no other is asked,
/// since the next py-spy would be refused as well.
class PythonReader {
 public:
  /// The world outside, so that a test can stand in for it.
  struct Means {
    std::function<bool(ProcessId)> is_python;  ///< false too where it has ended
    std::function<std::string(int)> find;      ///< find_py_spy()
    std::function<Dump(const std::string&, int)> dump;
    std::function<std::vector<std::string>(int)> frames;  ///< host::python_frames()
    std::function<bool()> is_time_up;
  };
  explicit PythonReader(Means means) : means_(std::move(means)) {}

  /// Leaves the place as it is where a hook has told it, or nothing can.
  void read(RankPlace& place);

  /// Why some places could not be told; empty: all could.
  [[nodiscard]] std::string note() const;

 private:
  Means means_;
  std::size_t missing_ = 0;
  std::size_t late_ = 0;
  std::string trouble_;
};

}  // namespace safelaunch::stacks
