#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {

/// Who sent a signal.
enum class SignalOrigin {
  terminal,  ///< the kernel: a key (Ctrl-C, Ctrl-Z), a hangup, a changed window size
  user,      ///< a process: kill(1), a scheduler, a parent that gives up
};

struct ReceivedSignal {
  int signal = 0;
  int sender = 0;  ///< pid; 0 where it is the kernel, or in another pid namespace
  SignalOrigin origin = SignalOrigin::user;
  bool operator==(const ReceivedSignal&) const = default;
};

/// The supervisor's ear: every signal that the user, the terminal or a scheduler sends to
/// safelaunch, once each, on the io_context. Left out are SIGCHLD (the `Reaper` has it), our own
/// faults, what was ignored when we were started (as under nohup), and SIGPIPE that our own writing
/// caused. Must not be destroyed by what it calls.
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
