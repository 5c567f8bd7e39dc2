#pragma once

#include <functional>
#include <memory>

#include "safelaunch/launch/child.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::launch {

/// The keys of the shell's terminal, lent to a job that asks for them: getpass, ssh, sudo, less, an
/// editor, a shell. The job's output goes to a pseudo-terminal of ours; the same one is the
/// terminal of its session and its stdin, so that whatever it opens is one terminal.
///
/// While nobody asks, the keys are ours: safelaunch hears of a Ctrl-C first and can tell how the
/// ranks stand, and what is typed ahead waits for the shell. The kernel stops a job that reads its
/// terminal, or changes its modes, in the background. Then the job becomes the foreground of its
/// terminal, ours passes all keys on unseen, and the job goes on, until it ends. A job that no such
/// stop reaches (it ignores, blocks or handles SIGTTIN) is the foreground before it asks, as soon
/// as that is seen, and is looked at now and then: a read that comes within half a second after it
/// has begun to ignore the stop fails.
class TerminalLoan {
 public:
  /// Who has a key: we, where nothing of the job reads the terminal, or the job. A shell in the job
  /// that has put a job of its own in the foreground has the key too.
  enum class KeyIsFor { us, job };
  /// A Ctrl-C or Ctrl-\ was typed. The job's are on their way to it already.
  using OnKey = std::function<void(int signal, KeyIsFor whom)>;
  /// Shows what the job has written before the modes of our terminal change.
  using Drain = std::function<void()>;

  TerminalLoan(boost::asio::io_context& io, OnKey on_key, Drain drain);
  TerminalLoan(const TerminalLoan&) = delete;
  TerminalLoan& operator=(const TerminalLoan&) = delete;
  ~TerminalLoan();

  /// Makes the pseudo-terminal that of our session; `terminal` is the true one, and `master` and
  /// `slave` are the two ends. The descriptors stay the caller's. False where the kernel refuses.
  [[nodiscard]] bool offer(int terminal, int master, int slave);

  /// Lends the keys to this job (Session::shared) whenever it asks. Where we are in the background
  /// it stops us as well, so that the shell shows a stopped job, and lets it go on with us. A job
  /// that others have stopped (SIGSTOP) stays as it is, unless it has the keys. Both live until
  /// `job_ended`, at the same places.
  void watch(Child& job);

  /// `suspend_job`. A job that had the keys has them again when we go on in the foreground.
  void suspend(const Child& job, int signal);

  /// Takes the keys back. Where a key has ended the job (Ctrl-C), the shell script that has started
  /// us gets the signal, as it would from the terminal.
  void job_ended(const ExitStatus& status);

 private:
  void look_later(const Child& job);
  void look(const Child& job);
  void job_stopped(const Child& job, int signal);

  struct Keys;
  std::shared_ptr<Keys> keys_;  ///< none until `offer`
  boost::asio::io_context& io_;
  OnKey on_key_;
  Drain drain_;
};

/// Whether the job is to ignore, or block, the stop of a background process that reads its
/// terminal. Each such read would fail at once, so it has to be in the foreground from the start.
[[nodiscard]] bool job_ignores_stops();

/// The descriptor (0, 1 or 2) of the terminal of safelaunch's session, whether or not it runs in
/// the foreground there: `fg` may bring it. -1 for none.
[[nodiscard]] int shells_terminal();

/// Gives the shell's terminal its modes back, if they are changed; for either half.
void restore_terminal();

}  // namespace safelaunch::launch
