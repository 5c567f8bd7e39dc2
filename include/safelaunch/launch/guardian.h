#pragma once

#include <memory>

#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {

/// Splits the program in two, so that nothing of a job outlives it whichever half is killed:
///
///     shell ─ guardian (the process that the user knows) ─ supervisor ─ launcher ─ workers
///
/// Returns in the supervisor, which does all the work: in a session of its own, so that `kill -9
/// %1`, which ends the guardian's whole process group, spares it for the moment that it needs to
/// kill the job. All signals but those of its own faults are blocked there; take them with
/// `SignalIntake`.
///
/// The guardian stays behind, waits for signals and for the supervisor, and never returns. It
/// passes each signal on once, whether it came from the terminal, to the group or to the guardian
/// alone. When the supervisor ends, the guardian kills everything that it has left and ends in the
/// same way. Where the supervisor does not notice a second INT or TERM within a second (it is
/// stopped, or stuck), the guardian kills everything below it and ends with 128 + the first signal.
/// It uses no heap once it is split off. It leaves children alone that the process had before it
/// became safelaunch.
///
/// To be called first in main, before anything is allocated or opened.
void split_guardian();

/// The guardian's pid; 0 where the program was not split.
[[nodiscard]] int guardian_pid();

/// Lives in the supervisor, and must be there before anything is started. When the guardian is gone
/// (only SIGKILL ends it before us), it kills everything below us and ends the process with 128 +
/// SIGKILL, since nobody is left who could be told. Throws where the guardian cannot be watched (no
/// pidfd).
class GuardianWatch {
 public:
  explicit GuardianWatch(boost::asio::io_context& io);
  GuardianWatch(const GuardianWatch&) = delete;
  GuardianWatch& operator=(const GuardianWatch&) = delete;
  ~GuardianWatch();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

/// Ends the supervisor, without destroying anything, while a thread of it may be stuck in the
/// kernel: the guardian then ends with this code and does not wait for it.
[[noreturn]] void end_at_once(int exit_code);

/// Several nodes: processes of the job may live until then. Where the supervisor has neither
/// extended the lease nor ended them a moment later (it is stopped, or stuck), the guardian kills
/// everything below it and ends with 69.
void hold_lease(TimePoint until);
/// Nothing of the job runs any more.
void release_lease();

/// Ends this process as another one ended: the same exit code, or the same signal, without a second
/// core file.
[[noreturn]] void end_like(const ExitStatus& status);

}  // namespace safelaunch::launch
