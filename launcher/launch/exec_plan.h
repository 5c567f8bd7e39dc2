#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "safelaunch/launch/child.h"

namespace safelaunch::launch {

/// What a step of a start was doing when it failed.
enum class ExecStep { session = 1, terminal, descriptors, cpus, exec };

/// A failure of a start, as one number that fits through Boost.Process's error pipe.
struct ExecFailure {
  ExecStep step = ExecStep::exec;
  int error = 0;  ///< errno

  [[nodiscard]] int packed() const { return static_cast<int>(step) << 16 | error; }
  [[nodiscard]] static ExecFailure unpack(int packed) {
    return {static_cast<ExecStep>(packed >> 16), packed & 0xffff};
  }
};

/// Everything that a child needs between fork and exec, made ready before the fork, since between
/// the two nothing may be allocated. Holds pointers into itself and `spec`: it stays where it is.
class ExecPlan {
 public:
  ExecPlan(const LaunchSpec& spec, std::string program);
  ExecPlan(const ExecPlan&) = delete;
  ExecPlan& operator=(const ExecPlan&) = delete;

  /// In the child: becomes the program, or says why not.
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
