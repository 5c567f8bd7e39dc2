#include "safelaunch/launch/tree_stopper.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>

#include "catch.h"
#include "program.h"
#include "safelaunch/launch/child.h"

using namespace safelaunch;
using namespace safelaunch::launch;
using namespace safelaunch::testing;

namespace {

const StopWanted kPolite{StopMode::polite, SIGTERM, Duration{60'000}};
const StopWanted kSweepAll{StopMode::sweep, SIGTERM, Duration{60'000}};
const StopWanted kKillAll{StopMode::now, SIGKILL, {}};

/// A job of one launcher, its output in a pipe, and the stop of it.
class StoppedJob {
 public:
  explicit StoppedJob(std::vector<std::string> argv) {
    int fds[2];
    REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
    reader_ = UniqueFd(fds[0]);
    UniqueFd writer(fds[1]);
    LaunchSpec spec;
    spec.argv = std::move(argv);
    spec.environment = {{"PATH", "/usr/bin:/bin"}};
    spec.out = writer.get();
    auto started = spawn(reaper, spec, [this](const ExitStatus& status) {
      main = status;
      const bool killed = std::holds_alternative<Signaled>(status);
      stopper.main_ended({killed ? MainEnded::How::by_signal : MainEnded::How::by_itself});
    });
    REQUIRE(started.has_value());
    child.emplace(std::move(*started));
  }
  /// Waits until a process of the job has said that it is ready; its pid.
  int ready() {
    std::string text;
    for (char c = 0; c != '\n';) {
      REQUIRE(::read(reader_.get(), &c, 1) == 1);
      text += c;
    }
    REQUIRE(text.starts_with("ready "));
    return std::stoi(text.substr(6));
  }
  void stop_with(const StopWanted& wanted) {
    stopper.stop(wanted);
    while (!survivors) io.run_one();
  }
  [[nodiscard]] std::vector<std::string> names_swept() const {
    std::vector<std::string> names;
    for (const Swept& one : stopper.swept()) names.push_back(one.name);
    return names;
  }

  boost::asio::io_context io;
  std::vector<int> asked;
  std::optional<ExitStatus> main;
  std::optional<std::vector<Survivor>> survivors;
  Reaper reaper{io,
                [this](int pid, const ExitStatus& status) { stopper.orphan_ended(pid, status); }};
  std::optional<launch::Child> child;
  TreeStopper stopper{io, reaper,
                      [this](int signal) {
                        asked.push_back(signal);
                        child->send(signal);
                      },
                      [this](const std::vector<Survivor>& left) { survivors = left; }};

 private:
  UniqueFd reader_;
};

}  // namespace

TEST_CASE("a job that is asked politely gets the signal once, and its end is told") {
  StoppedJob job({victim("go_silent")});
  job.ready();
  job.stop_with(kPolite);
  CHECK(job.asked == std::vector<int>{SIGTERM});
  CHECK(job.main == ExitStatus(Signaled{SIGTERM}));
  CHECK(job.survivors->empty());
  CHECK(job.stopper.swept().empty());
}

TEST_CASE("a job that ignores the signal is killed when its grace is over") {
  StoppedJob job({victim("ignore_term")});
  job.ready();
  job.stop_with({StopMode::polite, SIGTERM, Duration{1}});
  CHECK(job.main == ExitStatus(Signaled{SIGKILL}));
}

TEST_CASE("a second wish of the user kills at once what ignores the first") {
  StoppedJob job({victim("ignore_term")});
  job.ready();
  job.stopper.stop(kPolite);
  job.stop_with({StopMode::polite, SIGINT, Duration{60'000}});
  CHECK(job.main == ExitStatus(Signaled{SIGKILL}));
  CHECK(job.asked == std::vector<int>{SIGTERM});
}

TEST_CASE("a sweep signals every process of the job, and asks nobody by name") {
  StoppedJob job({"/bin/sh", "-c", victim("go_silent") + " & wait"});
  const int rank = job.ready();
  job.stop_with(kSweepAll);
  CHECK(job.asked.empty());
  CHECK(job.survivors->empty());
  CHECK(state_of(rank) == 'X');
}

TEST_CASE("a process that is stopped is woken by a sweep, so that it can end") {
  StoppedJob job({victim("go_silent")});
  const int rank = job.ready();
  ::kill(rank, SIGSTOP);
  REQUIRE(becomes(rank, "T"));
  job.stop_with(kSweepAll);
  CHECK(job.main == ExitStatus(Signaled{SIGTERM}));
}

TEST_CASE("a kill ends a daemon with a session of its own, which ignores TERM") {
  StoppedJob job({victim("fork_orphan")});
  const int daemon = job.ready();
  job.stop_with(kKillAll);
  CHECK(state_of(daemon) == 'X');
  CHECK(job.survivors->empty());
}

TEST_CASE("what a job left running is named once the sweep has ended it") {
  StoppedJob job({"/bin/sh", "-c", victim("go_silent") + " & exit 0"});
  job.ready();
  while (!job.main) job.io.run_one();
  job.stop_with(kSweepAll);
  CHECK(job.names_swept() == std::vector<std::string>{"victim_go_silen"});
}

TEST_CASE("a process that ends by itself was not ended by the sweep") {
  StoppedJob job({victim("exit_with"), "0"});
  while (!job.main) job.io.run_one();
  job.stop_with(kSweepAll);
  CHECK(job.stopper.swept().empty());
}

TEST_CASE("a job that has gone by itself needs no signal to be over") {
  StoppedJob job({victim("exit_with"), "3"});
  while (!job.main) job.io.run_one();
  job.stop_with(kPolite);
  CHECK(job.asked.empty());
  CHECK(job.main == ExitStatus(Exited{3}));
}

TEST_CASE("a rank's end that is told does not end a stop that others still live through") {
  StoppedJob job({victim("ignore_term")});
  job.ready();
  job.stopper.stop(kPolite);
  job.stopper.ranks_gone();
  job.io.poll();
  CHECK_FALSE(job.survivors);
  job.stop_with(kKillAll);
  CHECK(job.survivors->empty());
}

TEST_CASE("a stop that is given up tells nothing") {
  boost::asio::io_context io;
  Reaper reaper(io, [](int, const ExitStatus&) {});
  bool told = false;
  {
    TreeStopper stopper(
        io, reaper, [](int) {}, [&](const std::vector<Survivor>&) { told = true; });
    stopper.stop(kSweepAll);
  }
  io.poll();
  CHECK_FALSE(told);
}
