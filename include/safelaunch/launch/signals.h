#pragma once

#include <functional>
#include <memory>

#include "safelaunch/base/time.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {

/// The sender of a signal.
enum class SignalOrigin {
  terminal,  ///< the kernel: a key (Ctrl-C, Ctrl-Z), a hangup, a changed window size
  user,      ///< a process: kill(1), a scheduler, a parent that gives up
};

struct ReceivedSignal {
  int signal = 0;
  /// The sender's pid; 0 for the kernel, and for a process of another pid namespace.
  int sender = 0;
  SignalOrigin origin = SignalOrigin::user;
  /// It was ignored when we were started (nohup, a script's background): no wish to end anything. A
  /// job that has set a handler for it wants it all the same.
  bool ignored = false;
  bool operator==(const ReceivedSignal&) const = default;
};

/// The supervisor's ear: it tells of every signal that the user, the terminal or a scheduler sends
/// to safelaunch, once each, on the io_context. It leaves out SIGCHLD (the `Reaper` has it), our
/// own faults, and a SIGPIPE that our own writing caused. Its callback must not destroy it.
class SignalIntake {
 public:
  using OnSignal = std::function<void(const ReceivedSignal&)>;

  SignalIntake(boost::asio::io_context& io, OnSignal on_signal);
  SignalIntake(const SignalIntake&) = delete;
  SignalIntake& operator=(const SignalIntake&) = delete;
  ~SignalIntake();

 private:
  struct Ear;
  std::unique_ptr<Ear> ear_;
};

/// The SIGCONT that has let us go on, and is still to be heard of, is for nobody else: what was
/// stopped goes on already, and would hear it twice.
void forget_continue();

/// Obeys a SIGTSTP (Ctrl-Z), SIGTTIN or SIGTTOU that came to safelaunch, or that has stopped the
/// job. Stops every process of the job, then ourselves, so that the shell takes its terminal back.
/// When the shell lets us go on (`fg`, `bg`), lets the job go on too, and returns how long all
/// stood still: the caller moves the job's deadlines by that time. Processes that were stopped
/// before stay stopped.
Duration suspend_job(int signal);

/// Whether we may read from the shell's terminal: not in the background, and not without a
/// terminal. The supervisor has a session of its own, so the kernel does not hold it back.
[[nodiscard]] bool in_foreground();
/// Whether our session has a terminal, in whose foreground we are or may come.
[[nodiscard]] bool has_terminal();

}  // namespace safelaunch::launch
