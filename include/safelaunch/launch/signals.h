#pragma once

#include <functional>
#include <memory>

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
  bool operator==(const ReceivedSignal&) const = default;
};

/// The supervisor's ear: it tells of every signal that the user, the terminal or a scheduler sends
/// to safelaunch, once each, on the io_context. It leaves out SIGCHLD (the `Reaper` has it), our
/// own faults, signals that were ignored when we were started (as under nohup), and a SIGPIPE that
/// our own writing caused. Its callback must not destroy it.
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

}  // namespace safelaunch::launch
