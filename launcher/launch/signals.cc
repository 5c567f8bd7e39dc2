#include "safelaunch/launch/signals.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "halves.h"
#include "inherited.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/launch/descendants.h"
#include "safelaunch/launch/guardian.h"
#include "signal_stream.h"

// Where there is a guardian, a signal comes as its letter, which tells the first sender; all others
// are taken as the kernel tells them. While it is blocked, the kernel tells us of a signal that was
// ignored at the start, too. Signals that we send ourselves are not a user's wish. For Ctrl-Z the
// tree below us is stopped first, then this process.
namespace safelaunch::launch {
namespace {

sigset_t wanted() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int signal :
       {SIGCHLD, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGKILL, SIGSTOP})
    sigdelset(&signals, signal);
  return signals;
}

/// The half of us that the shell knows.
auto stat_of_our_face() {
  return host::stat_of(guardian_pid() != 0 ? guardian_pid() : ::getpid());
}

ReceivedSignal from_letter(const Letter& letter) {
  if (letter.sender == kKernel) return {letter.signal, 0, SignalOrigin::terminal};
  return {letter.signal, letter.sender, SignalOrigin::user};
}

ReceivedSignal received(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  const int sender = static_cast<int>(info.ssi_pid);
  const bool by_guardian = sender != 0 && sender == guardian_pid();
  if (by_guardian && halves() != nullptr) ++halves()->heard;
  if (by_guardian && signal == letter_carrier() && info.ssi_code == SI_QUEUE)
    return from_letter(open_letter(info.ssi_ptr));
  if (info.ssi_code > 0) return {signal, 0, SignalOrigin::terminal};
  return {signal, sender, SignalOrigin::user};
}

/// A process that ran and was stopped by us.
struct Frozen {
  Descendant where;
  std::uint64_t start_ticks = 0;
};

/// Stops everything of ours below us. It sends SIGSTOP, since the kernel ignores the softer signals
/// in a process group whose session has no shell.
std::vector<Frozen> freeze_descendants() {
  std::vector<Frozen> frozen;
  ProcChildren children;
  WalkRoom room;
  host::ExecMoment moment;
  const int self = ::getpid();
  for_each_descendant(children, self, room, [&](const Descendant& found) {
    const auto stat = host::stat_of(found.pid);
    const char state = host::state_of(found.pid);
    if (is_spared(found, moment)) return false;
    if (!stat || state == 'T' || state == 't' || state == 'Z') return true;
    if (signal_descendant(found, self, SIGSTOP) == Delivery::sent)
      frozen.push_back({found, stat->start_ticks});
    return true;
  });
  return frozen;
}

void thaw(const std::vector<Frozen>& frozen) {
  const int self = ::getpid();
  for (const Frozen& process : frozen) {
    const auto stat = host::stat_of(process.where.pid);
    if (stat && stat->start_ticks == process.start_ticks)
      signal_descendant(process.where, self, SIGCONT);
  }
}

}  // namespace

struct SignalIntake::Ear {
  OnSignal on_signal;
  SignalStream stream;

  Ear(boost::asio::io_context& io, OnSignal callback)
      : on_signal(std::move(callback)), stream(io, wanted(), [this](const signalfd_siginfo& info) {
          ReceivedSignal signal = received(info);
          signal.ignored = sigismember(&inherited().ignored, signal.signal) == 1;
          if (signal.sender != ::getpid()) on_signal(signal);
        }) {}
};

SignalIntake::SignalIntake(boost::asio::io_context& io, OnSignal on_signal)
    : ear_(std::make_unique<Ear>(io, std::move(on_signal))) {}

SignalIntake::~SignalIntake() = default;

void forget_continue() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCONT);
  const timespec now{};
  ::sigtimedwait(&signals, nullptr, &now);
}

Duration suspend_job(int signal) {
  const TimePoint before = Clock::now();
  const auto frozen = freeze_descendants();
  if (halves() != nullptr) halves()->stops_by = signal;
  ::raise(SIGSTOP);  // the guardian sees it, and stops itself as the shell expects
  thaw(frozen);
  const bool goes_on =
      std::ranges::any_of(frozen, [](const Frozen& one) { return one.where.parent == ::getpid(); });
  if (goes_on) forget_continue();
  return std::chrono::duration_cast<Duration>(Clock::now() - before);
}

bool in_foreground() {
  const auto stat = stat_of_our_face();
  return stat && stat->terminal_group == stat->group;
}

bool has_terminal() {
  const auto stat = stat_of_our_face();
  return stat && stat->terminal_group > 0;
}

}  // namespace safelaunch::launch
