#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/process_id.h"
#include "safelaunch/base/result.h"
#include "safelaunch/launch/reaper.h"

namespace safelaunch::launch {

/// Whether a child leads a session of its own.
enum class Session {
  own,     ///< no terminal's signals reach it but those that we pass on; the rule for a job
  shared,  ///< it stays in our session and process group
};

/// What to start, and how. What is not said here it has from us as we had it from the shell:
/// directory, umask, limits, priority, ignored and blocked signals, descriptors from 3 on.
struct LaunchSpec {
  std::vector<std::string> argv;  ///< the program first; looked up in the PATH of `environment`
  Environment environment;        ///< all of it
  std::optional<int> in = 0;      ///< descriptors of ours, not owned; nullopt is /dev/null
  std::optional<int> out = 1;
  std::optional<int> err = 2;
  Session session = Session::own;
  std::optional<int> terminal;  ///< a pty's slave to become its controlling terminal
  std::vector<int> cpus;        ///< to run on; empty: wherever we may
};

/// One child process. Destroying it while it runs kills it (not what it has started: a
/// `TreeStopper` does that) and leaves it to the Reaper; ask it to stop first to be polite.
class Child {
 public:
  explicit Child(std::shared_ptr<Reaper::Awaited> awaited) : awaited_(std::move(awaited)) {}
  Child(Child&&) noexcept = default;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  [[nodiscard]] ProcessId id() const { return awaited_->process; }
  [[nodiscard]] bool running() const { return awaited_ && !awaited_->ended; }

  /// To the process alone; nothing happens where it has ended.
  void send(int signal) const;
  /// To its process group, of which it must be the leader (Session::own).
  void send_to_group(int signal) const;

 private:
  void kill_and_forget();

  std::shared_ptr<Reaper::Awaited> awaited_;
};

/// Starts a process, and returns when the program has really begun (about a millisecond).
/// `on_exit` is called once, when it has ended and was reaped. It dies with us, should we be
/// killed. Errors: not_found, not_executable, os.
[[nodiscard]] Result<Child> spawn(Reaper& reaper, const LaunchSpec& spec, Reaper::OnExit on_exit);

}  // namespace safelaunch::launch
