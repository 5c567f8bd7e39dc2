#pragma once

#include <memory>

#include "safelaunch/base/exit_status.h"

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
/// The guardian stays behind, waits for signals and for the supervisor, and never returns. What it
/// is sent it passes on, once each, whether from the terminal, to the group or to it alone. When
/// the supervisor ends it kills whatever that has left and ends in the same way. Where the
/// supervisor does not take notice of a second INT or TERM within a second (it is stopped, or
/// stuck), the guardian kills all that is below it and ends with 128 + the first one. It uses no
/// heap once it is split off. Children that the process had before it became safelaunch are none of
/// its business.
///
/// To be called first in main, before anything is allocated or opened.
void split_guardian();

/// The guardian's pid; 0 where the program was not split.
[[nodiscard]] int guardian_pid();

/// Lives in the supervisor, from before anything is started on. When the guardian is gone (only
/// SIGKILL ends it before us), kills everything below us and ends the process with 128 + SIGKILL:
/// nobody is left to tell. Throws where the guardian cannot be watched (no pidfd).
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

/// Ends this process as another one ended: the same exit code, or the same signal, without a second
/// core file.
[[noreturn]] void end_like(const ExitStatus& status);

}  // namespace safelaunch::launch
