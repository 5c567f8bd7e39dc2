#include "safelaunch/launch/exit_watch.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>

#include "catch.h"
#include "no_more_files.h"
#include "program.h"
#include "safelaunch/host/process_facts.h"

using namespace safelaunch;

using namespace safelaunch::launch;
using namespace safelaunch::testing;

namespace {

/// Runs until the watch has told; the status.
std::optional<ExitStatus> told(boost::asio::io_context& io, ProcessId process,
                               const std::function<void()>& then) {
  std::optional<ExitStatus> result;
  int calls = 0;
  const launch::ExitWatch watch(io, process, [&](std::optional<ExitStatus> status) {
    result = status;
    ++calls;
  });
  then();
  io.restart();
  io.run();
  CHECK(calls == 1);
  return result;
}

ProcessId id_of(int pid) {
  const auto facts = host::facts_of(pid);
  REQUIRE(facts);
  return facts->id;
}

}  // namespace

TEST_CASE("how another one's child ended is told") {
  boost::asio::io_context io;
  // The shell is the parent, and reaps.
  Program shell({"/bin/sh", "-c", victim("go_silent") + " & wait; exec cat"});
  const int pid = shell.number_after("ready");
  const auto status = told(io, id_of(pid), [&] { ::kill(pid, SIGUSR1); });
  CHECK(status == ExitStatus{Signaled{SIGUSR1, false}});
}

TEST_CASE("the status of a zombie is read though nobody reaps it") {
  boost::asio::io_context io;
  Program program({victim("slow_stop")});
  const int pid = program.number_after("ready");
  const auto status = told(io, id_of(pid), [&] {
    program.close_stdin();
    ::kill(pid, SIGTERM);
    REQUIRE(becomes(pid, "Z"));
  });
  CHECK(status == ExitStatus{Exited{0}});
}

TEST_CASE("a process that was gone before is told at once, and its pid's next owner is not meant") {
  boost::asio::io_context io;
  Program other({victim("go_silent")});
  const int pid = other.number_after("ready");
  CHECK(told(io, {pid, 1}, [] {}) == std::nullopt);
  CHECK(told(io, {1 << 22, 1}, [] {}) == std::nullopt);
}

TEST_CASE("where files cannot be opened a living process is not told to be gone, and its end is") {
  boost::asio::io_context io;
  Program program({victim("go_silent")});
  const int pid = program.number_after("ready");
  const auto process = id_of(pid);
  const boost::asio::steady_timer timer(io);  // has the io_context open what it needs itself
  std::optional<NoMoreFiles> none(std::in_place);
  std::optional<std::optional<ExitStatus>> seen;
  const launch::ExitWatch watch(io, process,
                                [&](std::optional<ExitStatus> status) { seen = status; });
  io.run_one();  // whatever comes first: the wrong news, or the next attempt to open it
  none.reset();  // UBSan needs descriptors to look at what a check compares
  CHECK_FALSE(seen);

  ::kill(pid, SIGKILL);
  io.run();
  CHECK(seen == std::optional<ExitStatus>(Signaled{SIGKILL, false}));
}

TEST_CASE("a watch that is given up tells nothing") {
  boost::asio::io_context io;
  Program program({victim("go_silent")});
  const int pid = program.number_after("ready");
  {
    const launch::ExitWatch watch(io, id_of(pid), [](auto) { FAIL("given up"); });
  }
  ::kill(pid, SIGKILL);
  io.run();
}
