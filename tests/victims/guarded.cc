// guarded [--forward] [--alike] [--impatient] [--leased] PROGRAM [ARG...]: the smallest supervisor
// behind a guardian, made of the room `launch` alone. Says "supervisor PID" first. Passes INT, TERM
// and HUP on politely, stops for Ctrl-Z, leaves nothing running, ends with the program's status.
// With
// --forward every signal goes to the program and none stops it; with --alike a signal that ended
// the program ends it too, instead of 128 + N; with --impatient the grace is half a second, not
// half a minute; with --leased the job may live for half a second, and nobody extends that.
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "safelaunch/launch/child.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/launch/signals.h"
#include "safelaunch/launch/tree_stopper.h"

namespace {

using namespace safelaunch;

struct Options {
  bool forward = false;
  bool alike = false;
  bool leased = false;
  Duration grace{30'000};
  launch::LaunchSpec launch;
};

Options parse(int argc, char** argv) {
  Options options;
  options.launch.environment = current_environment();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (options.launch.argv.empty() && word == "--forward")
      options.forward = true;
    else if (options.launch.argv.empty() && word == "--alike")
      options.alike = true;
    else if (options.launch.argv.empty() && word == "--leased")
      options.leased = true;
    else if (options.launch.argv.empty() && word == "--impatient")
      options.grace = Duration{500};
    else
      options.launch.argv.push_back(word);
  }
  return options;
}

class Supervisor {
 public:
  explicit Supervisor(const Options& options) : options_(options) {}

  ExitStatus run() {
    if (options_.leased) launch::hold_lease(Clock::now() + Duration{500});
    auto child = launch::spawn(reaper_, options_.launch,
                               [this](const ExitStatus& status) { ended(status); });
    if (!child) return Exited{exit_code_of(child.error().code)};
    child_.emplace(std::move(*child));
    io_.run();
    return status_;
  }

 private:
  void ended(const ExitStatus& status) {
    status_ = status;
    stopper_.stop({launch::StopMode::sweep, 0, Duration{200}});
  }

  void on_signal(const launch::ReceivedSignal& received) {
    switch (options_.forward || received.ignored ? 0 : received.signal) {
      case SIGINT:
      case SIGTERM:
      case SIGHUP:
        return stopper_.stop({launch::StopMode::polite, received.signal, options_.grace});
      case SIGTSTP: return void(launch::suspend_job(received.signal));
      default: return child_->send(received.signal);
    }
  }

  const Options& options_;
  ExitStatus status_;
  boost::asio::io_context io_;
  launch::GuardianWatch guardian_{io_};
  launch::Reaper reaper_{io_, [](int, const ExitStatus&) {}};
  launch::SignalIntake signals_{
      io_, [this](const launch::ReceivedSignal& signal) { on_signal(signal); }};
  launch::TreeStopper stopper_{io_, reaper_, [this](int signal) { child_->send(signal); },
                               [this](const std::vector<launch::Survivor>&) { io_.stop(); }};
  std::optional<launch::Child> child_;
};

}  // namespace

int main(int argc, char** argv) {
  launch::split_guardian();
  std::printf("supervisor %d\n", ::getpid());
  std::fflush(stdout);
  const Options options = parse(argc, argv);
  const ExitStatus status = Supervisor(options).run();
  if (options.alike) launch::end_like(status);
  return shell_code(status);
}
