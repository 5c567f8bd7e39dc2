#pragma once

#include <memory>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/process.h"
#include "safelaunch/base/result.h"
#include "safelaunch/launch/reaper.h"

namespace safelaunch::launch {

/// What a child shares with us. It leads a process group of its own in any case: only the signals
/// that we pass on reach it.
enum class Session {
  own,     ///< nothing; it has no terminal to ask at
  shared,  ///< our session, whose terminal is that of a `TerminalLoan`, if any
};

/// A program to start, and the manner. Everything else it gets as we got it from the shell:
/// directory, umask, limits, priority, ignored and blocked signals, descriptors from 3 on.
struct LaunchSpec {
  /// The program first; it is looked up in the PATH of `environment`.
  std::vector<std::string> argv;
  Environment environment;    ///< its whole environment
  std::optional<int> in = 0;  ///< descriptors of ours, which we go on owning; nullopt: /dev/null
  std::optional<int> out = 1;
  std::optional<int> err = 2;
  Session session = Session::own;
  std::vector<int> cpus;  ///< the CPUs it may run on; empty: all that we may
  /// A descriptor of our session's terminal, of which it becomes the foreground; none: of none.
  std::optional<int> foreground_of{};
};

/// One child process. To destroy it while it runs kills the process, but not its own children,
/// which a `TreeStopper` ends; the Reaper collects it. To be polite, ask it to stop first.
class Child {
 public:
  explicit Child(std::shared_ptr<Reaper::Awaited> awaited) : awaited_(std::move(awaited)) {}
  Child(Child&&) noexcept = default;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  [[nodiscard]] ProcessId id() const { return awaited_->process; }
  [[nodiscard]] bool running() const { return awaited_ && !awaited_->ended; }

  /// Signals the process alone; nothing happens where it has ended.
  void send(int signal) const;
  /// Signals its process group.
  void send_to_group(int signal) const;

  /// Calls `on_stop` with the signal whenever the process is stopped by one.
  void when_stopped(Reaper::OnStop on_stop) { awaited_->on_stop = std::move(on_stop); }

 private:
  void kill_and_forget();

  std::shared_ptr<Reaper::Awaited> awaited_;
};

/// Starts a process, and returns when the program has really begun (about a millisecond). Calls
/// `on_exit` once, after the process has ended and was reaped. If we are killed, the process dies
/// with us. Errors: not_found, not_executable, os.
[[nodiscard]] Result<Child> spawn(Reaper& reaper, const LaunchSpec& spec, Reaper::OnExit on_exit);

}  // namespace safelaunch::launch
