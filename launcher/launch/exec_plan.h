#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "safelaunch/launch/child.h"

namespace safelaunch::launch {

/// The steps of a start.
enum class ExecStep { session = 1, terminal, descriptors, cpus, exec };

/// The step at which a start failed, and its errno, as one number that fits through Boost.Process's
/// error pipe.
struct ExecFailure {
  ExecStep step = ExecStep::exec;
  int error = 0;  ///< errno

  [[nodiscard]] int packed() const { return static_cast<int>(step) << 16 | error; }
  [[nodiscard]] static ExecFailure unpack(int packed) {
    return {static_cast<ExecStep>(packed >> 16), packed & 0xffff};
  }
};

/// Everything that a child needs between fork and exec. It is made before the fork, since nothing
/// may be allocated between the two. It holds pointers into itself and into `spec`, so it cannot be
/// moved.
class ExecPlan {
 public:
  ExecPlan(const LaunchSpec& spec, std::string program);
  ExecPlan(const ExecPlan&) = delete;
  ExecPlan& operator=(const ExecPlan&) = delete;

  /// Becomes the program, in the child, or returns the failure.
  [[nodiscard]] ExecFailure run() const;

 private:
  [[nodiscard]] bool tie_to_parent() const;
  [[nodiscard]] bool take_terminal() const;
  [[nodiscard]] bool arrange_descriptors() const;
  [[nodiscard]] bool bind_cpus() const;
  void exec() const;

  const LaunchSpec& spec_;
  std::string program_;
  std::vector<std::string> variables_;
  std::vector<char*> argv_;
  std::vector<char*> shell_argv_;  ///< sh PROGRAM ARG...
  std::vector<char*> envp_;
  cpu_set_t cpus_;
  int parent_;
};

}  // namespace safelaunch::launch
