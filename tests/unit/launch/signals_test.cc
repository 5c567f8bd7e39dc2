#include "safelaunch/launch/signals.h"

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>

#include "catch.h"
#include "launcher/launch/halves.h"

using namespace safelaunch;
using namespace safelaunch::launch;

namespace {

/// Gives the test's signals back as they were.
class MaskOfTest {
 public:
  MaskOfTest() { ::sigprocmask(SIG_BLOCK, nullptr, &before_); }
  MaskOfTest(const MaskOfTest&) = delete;
  MaskOfTest& operator=(const MaskOfTest&) = delete;
  ~MaskOfTest() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// The signals that safelaunch hears.
struct Ears {
  MaskOfTest mask;
  boost::asio::io_context io;
  std::vector<ReceivedSignal> heard;
  SignalIntake intake{io, [this](const ReceivedSignal& signal) { heard.push_back(signal); }};

  void run_until(std::size_t count) {
    while (heard.size() < count) io.run_one();
  }
};

/// Another process, which sends us these signals one after the other.
int sent_by_another(const std::vector<int>& signals) {
  const int test = ::getpid();
  const int pid = ::fork();
  if (pid == 0) {
    for (const int signal : signals) ::kill(test, signal);
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
  return pid;
}

Letter carried(const Letter& letter) {
  const MaskOfTest mask;
  sigset_t carrier;
  sigemptyset(&carrier);
  sigaddset(&carrier, letter_carrier());
  ::sigprocmask(SIG_BLOCK, &carrier, nullptr);
  send_letter(::getpid(), letter);
  siginfo_t info{};
  REQUIRE(::sigwaitinfo(&carrier, &info) == letter_carrier());
  return open_letter(reinterpret_cast<std::uint64_t>(info.si_value.sival_ptr));
}

}  // namespace

TEST_CASE("a signal of another process is told with its sender") {
  Ears ears;
  const int sender = sent_by_another({SIGTERM});
  ears.run_until(1);
  CHECK(ears.heard == std::vector<ReceivedSignal>{{SIGTERM, sender, SignalOrigin::user}});
}

TEST_CASE("a signal of the kernel is the terminal's, and has no sender") {
  Ears ears;
  const itimerval soon{{0, 0}, {0, 1}};
  REQUIRE(::setitimer(ITIMER_REAL, &soon, nullptr) == 0);
  ears.run_until(1);
  CHECK(ears.heard == std::vector<ReceivedSignal>{{SIGALRM, 0, SignalOrigin::terminal}});
}

TEST_CASE("what we send ourselves is no wish of anybody's") {
  Ears ears;
  ::kill(::getpid(), SIGUSR1);  // as our own writing causes SIGPIPE
  const int sender = sent_by_another({SIGUSR2});
  ears.run_until(1);
  CHECK(ears.heard == std::vector<ReceivedSignal>{{SIGUSR2, sender, SignalOrigin::user}});
}

TEST_CASE("every signal that can be taken is told, in the order of the kernel") {
  std::vector<int> signals;
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,
                           SIGCONT, SIGURG, SIGXCPU, SIGWINCH, SIGIO, SIGPWR})
    signals.push_back(signal);
  Ears ears;
  const int sender = sent_by_another(signals);
  ears.run_until(signals.size());
  std::vector<int> heard;
  for (const ReceivedSignal& one : ears.heard) {
    heard.push_back(one.signal);
    CHECK(one.sender == sender);
  }
  std::ranges::sort(heard);
  std::ranges::sort(signals);
  CHECK(heard == signals);
}

TEST_CASE("two signals of a kind that is queued are two") {
  Ears ears;
  sent_by_another({SIGRTMIN + 3, SIGRTMIN + 3});
  ears.run_until(2);
  CHECK(ears.heard.front() == ears.heard.back());
}

TEST_CASE("the carrier of letters is an ordinary signal where no guardian sends it") {
  Ears ears;
  const int sender = sent_by_another({letter_carrier()});
  ears.run_until(1);
  CHECK(ears.heard == std::vector<ReceivedSignal>{{letter_carrier(), sender, SignalOrigin::user}});
}

TEST_CASE("a letter carries every signal and every sender") {
  for (const int signal : {1, SIGTERM, 31, 64})
    for (const int sender : {kKernel, 0, 1, 4'194'304}) {
      const Letter letter = carried({signal, sender});
      CHECK(letter.signal == signal);
      CHECK(letter.sender == sender);
    }
}

TEST_CASE("without a terminal nobody is in the foreground") {
  const int pid = ::fork();
  if (pid == 0) {
    ::setsid();
    ::_exit(in_foreground() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}
