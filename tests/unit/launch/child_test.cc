#include "safelaunch/launch/child.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "catch.h"
#include "launcher/launch/inherited.h"
#include "program.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;

using namespace safelaunch::launch;
using namespace safelaunch::testing;

namespace {

std::string read_all(int fd) {
  std::string text;
  char piece[4096];
  for (ssize_t size = 0; (size = ::read(fd, piece, sizeof(piece))) > 0;)
    text.append(piece, static_cast<std::size_t>(size));
  return text;
}

/// A program's stdout, and how it ended.
struct Outcome {
  std::string output;
  ExitStatus status;
  int ends_told = 0;
};

struct World {
  boost::asio::io_context io;
  std::vector<int> orphans;
  launch::Reaper reaper{io, [this](int pid, const ExitStatus&) { orphans.push_back(pid); }};

  Outcome run(launch::LaunchSpec spec) {
    int fds[2];
    REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
    const UniqueFd reader(fds[0]);
    UniqueFd writer(fds[1]);
    spec.out = writer.get();
    Outcome outcome;
    auto child = launch::spawn(reaper, spec, [&](const ExitStatus& status) {
      outcome.status = status;
      ++outcome.ends_told;
    });
    if (!child) FAIL(child.error().message);
    writer.reset();
    outcome.output = read_all(reader.get());
    while (outcome.ends_told == 0) io.run_one();
    return outcome;
  }

  Error failure(const launch::LaunchSpec& spec) {
    const auto child = launch::spawn(reaper, spec, [](const ExitStatus&) {});
    REQUIRE_FALSE(child.has_value());
    return child.error();
  }
};

launch::LaunchSpec spec_of(std::vector<std::string> argv) {
  launch::LaunchSpec spec;
  spec.argv = std::move(argv);
  spec.environment = {{"PATH", "/usr/bin:/bin"}};
  return spec;
}

/// A set of signals as /proc/PID/status shows it.
std::string as_in_proc(const sigset_t& signals) {
  unsigned long long bits = 0;
  for (int signal = 1; signal <= 64; ++signal)
    if (sigismember(&signals, signal) == 1) bits |= 1ULL << (signal - 1);
  return fmt::format("{:016x}", bits);
}

std::string written(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

/// A folder that is gone with the test.
struct Scratch {
  std::string path = "/tmp/launch_test_XXXXXX";
  Scratch() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("a child's end is told once, with its status") {
  World world;
  const Outcome exited = world.run(spec_of({victim("exit_with"), "3"}));
  CHECK(exited.status == ExitStatus{Exited{3}});
  CHECK(exited.ends_told == 1);
  const Outcome killed = world.run(spec_of({victim("die_by_signal"), "15"}));
  CHECK(killed.status == ExitStatus{Signaled{SIGTERM, false}});
}

TEST_CASE("a child has the given environment and nothing else of ours") {
  World world;
  launch::LaunchSpec spec = spec_of({victim("print_env")});
  spec.environment = {{"RANK", "3"}, {"WORLD_SIZE", "4"}};
  CHECK(world.run(spec).output == "RANK=3\nWORLD_SIZE=4\n");
}

TEST_CASE("descriptors of ours stay with us, those from the shell pass through") {
  REQUIRE(::fcntl(STDERR_FILENO, F_GETFD) >= 0);
  launch::inherited();
  World world;
  const UniqueFd careless(::open("/dev/null", O_RDONLY));  // as a library opens it, inheritable
  const std::string output = world.run(spec_of({victim("show_state")})).output;
  std::string expected = "fds: 0 1 2";
  for (const int fd : launch::inherited().fds) expected += " " + std::to_string(fd);
  CHECK(output.substr(0, output.find('\n')) == expected);
}

TEST_CASE("a child has the signals that the shell gave us, whatever we do with ours") {
  launch::inherited();
  World world;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &usr1, nullptr);
  ::signal(SIGUSR2, SIG_IGN);
  const std::string output = world.run(spec_of({victim("show_state")})).output;
  ::signal(SIGUSR2, SIG_DFL);
  ::sigprocmask(SIG_UNBLOCK, &usr1, nullptr);
  CHECK(output.find("SigBlk:\t" + as_in_proc(launch::inherited().mask)) != std::string::npos);
  CHECK(output.find("SigIgn:\t" + as_in_proc(launch::inherited().ignored)) != std::string::npos);
}

TEST_CASE("a child may open as many files as the shell let us, whatever we take for ourselves") {
  const rlimit shells = launch::inherited().descriptors;
  World world;
  rlimit ours = shells;
  ours.rlim_cur = shells.rlim_cur / 2;
  ::setrlimit(RLIMIT_NOFILE, &ours);
  const std::string output = world.run(spec_of({victim("show_state")})).output;
  ::setrlimit(RLIMIT_NOFILE, &shells);
  CHECK(output.find("may open: " + std::to_string(shells.rlim_cur) + "\n") != std::string::npos);
}

TEST_CASE("a child leads a session of its own unless it is to share ours") {
  World world;
  launch::LaunchSpec spec = spec_of({victim("show_state")});
  CHECK(world.run(spec).output.find("leader: 1") != std::string::npos);
  spec.session = launch::Session::shared;
  CHECK(world.run(spec).output.find("leader: 0") != std::string::npos);
}

TEST_CASE("a child can be bound to CPUs, and a CPU that is not there is an error") {
  World world;
  launch::LaunchSpec spec = spec_of({victim("show_state")});
  spec.cpus = {::sched_getcpu()};
  CHECK(world.run(spec).output.find("cpus: 1\n") != std::string::npos);
  spec.cpus = {1000};
  CHECK(world.failure(spec).code == Errc::os);
}

TEST_CASE("stdin can be nothing") {
  World world;
  launch::LaunchSpec spec = spec_of({"cat"});
  spec.in = std::nullopt;
  CHECK(world.run(spec).output.empty());
}

TEST_CASE("output and errors can share one descriptor, also when they change places") {
  World world;
  launch::LaunchSpec spec = spec_of({"sh", "-c", "echo err >&2"});
  int fds[2];
  REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
  const UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  spec.err = writer.get();
  world.run(spec);
  writer.reset();
  CHECK(read_all(reader.get()) == "err\n");
}

TEST_CASE("a program is found as a shell finds it, and is called by the word that was typed") {
  World world;
  const Scratch scratch;
  const std::string& folder = scratch.path;
  written(folder + "/tool", "#!/bin/sh\necho tool\n", 0755);
  launch::LaunchSpec spec = spec_of({"tool"});
  spec.environment = {{"PATH", "/nowhere:" + folder}};
  CHECK(world.run(spec).output == "tool\n");
  const Outcome named = world.run(spec_of({victim("show_state"), "a b"}));
  CHECK(named.output.find("argument: a b") != std::string::npos);
}

TEST_CASE("a script without a first line for the kernel is run by sh") {
  World world;
  const Scratch scratch;
  const std::string script = written(scratch.path + "/bare", "echo bare $1\n", 0755);
  CHECK(world.run(spec_of({script, "x"})).output == "bare x\n");
}

TEST_CASE("what cannot be executed is told as a shell would, and leaves no zombie") {
  World world;
  const Scratch scratch;
  const std::string& folder = scratch.path;
  CHECK(world.failure(spec_of({"no-such-program"})).code == Errc::not_found);
  CHECK(world.failure(spec_of({"/no/such/program"})).code == Errc::not_found);
  CHECK(world.failure(spec_of({folder})).code == Errc::not_executable);
  CHECK(world.failure(spec_of({written(folder + "/data", "x", 0644)})).code ==
        Errc::not_executable);
  const Error bad = world.failure(spec_of({written(folder + "/bad", "#!/no/such/sh\n", 0755)}));
  CHECK(bad.code == Errc::not_found);
  CHECK(bad.message.find("interpreter") != std::string::npos);
  bool childless = false;
  world.reaper.when_childless([&] { childless = true; });
  world.io.poll();
  CHECK(childless);
}

TEST_CASE("a child that is given up is killed and reaped") {
  World world;
  int pid = 0;
  {
    auto child =
        launch::spawn(world.reaper, spec_of({victim("ignore_term")}),
                      [](const ExitStatus&) { FAIL("nobody wants to hear of it any more"); });
    REQUIRE(child.has_value());
    pid = child->id().pid;
  }
  bool childless = false;
  world.reaper.when_childless([&] { childless = true; });
  while (!childless) world.io.run_one();
  CHECK(state_of(pid) == 'X');
}

TEST_CASE("orphans of the job are reaped, and told of") {
  World world;
  // Fifty processes whose parent ends before them.
  const auto outcome = world.run(spec_of(
      {"sh", "-c", "i=0; while [ $i -lt 50 ]; do (sleep 0.02 &); i=$((i+1)); done; exit 4"}));
  CHECK(outcome.status == ExitStatus{Exited{4}});
  bool childless = false;
  world.reaper.when_childless([&] { childless = true; });
  while (!childless) world.io.run_one();
  CHECK(std::set<int>(world.orphans.begin(), world.orphans.end()).size() == 50);
}
