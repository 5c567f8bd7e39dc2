#pragma once

#include <string>
#include <vector>

#include "safelaunch/base/process.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::testing {

/// The path of one of tests/victims.
std::string victim(const std::string& name);

/// A program with its stdout in a pipe, started as a shell does: in a process group of its own.
/// Waiting for anything gives up after half a minute and fails the test. Every process that it has
/// started holds the pipe too, so the pipe's end proves that nothing of it lives any more.
class Program {
 public:
  explicit Program(const std::vector<std::string>& argv);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  [[nodiscard]] int pid() const { return pid_; }

  /// The next line of its output, without the newline.
  std::string line();

  /// The number at the end of the next line, which must begin with `word`.
  int number_after(const std::string& word);

  /// Whether its output has ended: everything that it had started is gone.
  bool nobody_left();

  /// Closes its stdin.
  void close_stdin() { stdin_.reset(); }

  ExitStatus wait();

  /// Waits until it has stopped; the signal that stopped it.
  int wait_stopped();

 private:
  bool read_more();

  int pid_ = 0;
  bool reaped_ = false;
  UniqueFd stdin_;
  UniqueFd stdout_;
  std::string text_;
};

/// The state letter of a process, as in ps; 'X' where it is gone.
char state_of(int pid);

/// Waits until a process is in one of these states.
bool becomes(int pid, const std::string& states);

}  // namespace safelaunch::testing
