#include "safelaunch/launch/signals.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "halves.h"
#include "inherited.h"
#include "safelaunch/launch/guardian.h"
#include "signal_stream.h"

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

bool matters(const ReceivedSignal& received) {
  return received.sender != ::getpid() && !sigismember(&inherited().ignored, received.signal);
}

}  // namespace

struct SignalIntake::Ear {
  OnSignal on_signal;
  SignalStream stream;

  Ear(boost::asio::io_context& io, OnSignal callback)
      : on_signal(std::move(callback)), stream(io, wanted(), [this](const signalfd_siginfo& info) {
          const ReceivedSignal signal = received(info);
          if (matters(signal)) on_signal(signal);
        }) {}
};

SignalIntake::SignalIntake(boost::asio::io_context& io, OnSignal on_signal)
    : ear_(std::make_unique<Ear>(io, std::move(on_signal))) {}

SignalIntake::~SignalIntake() = default;

}  // namespace safelaunch::launch
