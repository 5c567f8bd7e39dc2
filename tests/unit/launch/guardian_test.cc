#include "safelaunch/launch/guardian.h"

#include <pty.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "catch.h"
#include "program.h"
#include "unit/host/child.h"

using namespace safelaunch;

using namespace safelaunch::launch;
using namespace safelaunch::testing;

namespace {

/// A program behind a guardian, with the pids that it has told.
struct Guarded {
  Program program;
  int supervisor;

  explicit Guarded(std::vector<std::string> words)
      : program(with_guardian(std::move(words))), supervisor(program.number_after("supervisor")) {}

  static std::vector<std::string> with_guardian(std::vector<std::string> words) {
    words.insert(words.begin(), victim("guarded"));
    return words;
  }
};

/// Two of a kind that are sent while none is taken are one.
bool has_taken_its_signals(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (word == "ShdPnd:" && status >> word) return word.find_first_not_of('0') == word.npos;
  return false;
}

}  // namespace

TEST_CASE("every exit code passes through the guardian") {
  for (int code = 0; code < 256; ++code) {
    Guarded guarded({victim("exit_with"), std::to_string(code)});
    CHECK(guarded.program.wait() == ExitStatus{Exited{code}});
  }
}

TEST_CASE("a supervisor that a signal ended makes the guardian end by the same one") {
  for (const int signal : {SIGHUP, SIGINT, SIGKILL, SIGUSR1, SIGSEGV, SIGPIPE, SIGTERM, 40}) {
    Guarded guarded({"--alike", victim("die_by_signal"), std::to_string(signal)});
    CHECK(guarded.program.wait() == ExitStatus{Signaled{signal, false}});
  }
}

TEST_CASE("nothing outlives a guardian that is killed") {
  const std::string shape = GENERATE("go_silent", "ignore_term", "fork_orphan");
  Guarded guarded({victim(shape)});
  guarded.program.number_after("ready");
  ::kill(guarded.program.pid(), SIGKILL);
  CHECK(guarded.program.nobody_left());
}

TEST_CASE("nothing outlives the lease of a supervisor that is stopped") {
  const std::string shape = GENERATE("go_silent", "ignore_term", "fork_orphan");
  Guarded guarded({"--leased", victim(shape)});
  guarded.program.number_after("ready");
  ::kill(guarded.supervisor, SIGSTOP);
  CHECK(guarded.program.wait() == ExitStatus{Exited{69}});
  CHECK(guarded.program.nobody_left());
}

TEST_CASE("nothing outlives a supervisor that is killed, and the guardian ends like it") {
  const std::string shape = GENERATE("go_silent", "ignore_term", "fork_orphan");
  Guarded guarded({victim(shape)});
  guarded.program.number_after("ready");
  ::kill(guarded.supervisor, SIGKILL);
  CHECK(guarded.program.nobody_left());
  CHECK(guarded.program.wait() == ExitStatus{Signaled{SIGKILL, false}});
}

TEST_CASE("a SIGKILL for the whole process group, as of kill -9 %1, leaves nothing running") {
  Guarded guarded({victim("fork_orphan")});
  guarded.program.number_after("ready");
  ::kill(-guarded.program.pid(), SIGKILL);
  CHECK(guarded.program.nobody_left());
}

TEST_CASE("a guardian may be killed at any moment of its life") {
  const int trials = std::getenv("SAFELAUNCH_SOAK") != nullptr ? 3'000 : 30;
  for (int trial = 0; trial < trials; ++trial) {
    Program program(Guarded::with_guardian({victim("fork_orphan")}));
    // From before the split to a while after the daemon has come up.
    std::this_thread::sleep_for(std::chrono::microseconds(trial * 7'919 % 6'000));
    ::kill(program.pid(), SIGKILL);
    CHECK(program.nobody_left());
  }
}

TEST_CASE("stopped processes and fork storms do not outlive their guardian either") {
  SECTION("stopped") {
    Guarded guarded({victim("go_silent")});
    const int worker = guarded.program.number_after("ready");
    ::kill(worker, SIGSTOP);
    REQUIRE(becomes(worker, "T"));
    ::kill(guarded.program.pid(), SIGKILL);
    CHECK(guarded.program.nobody_left());
  }
  SECTION("a storm, the supervisor is killed") {
    Guarded guarded({"/bin/sh", "-c", victim("fork_storm") + " & exec " + victim("go_silent")});
    guarded.program.line();
    guarded.program.line();
    ::kill(guarded.supervisor, SIGKILL);
    CHECK(guarded.program.nobody_left());
  }
}

TEST_CASE("a daemon does not outlive a launcher that ended by itself") {
  Guarded guarded({victim("fork_orphan"), "7"});
  CHECK(guarded.program.nobody_left());
  CHECK(guarded.program.wait() == ExitStatus{Exited{7}});
}

TEST_CASE("a signal for safelaunch reaches the program once, to the process or to its group") {
  const bool to_group = GENERATE(false, true);
  Guarded guarded({"--forward", victim("report_signals"), "3"});
  guarded.program.number_after("ready");
  const int target = to_group ? -guarded.program.pid() : guarded.program.pid();
  for (const int signal : {SIGTERM, SIGINT, SIGTERM}) {
    ::kill(target, signal);
    CHECK(guarded.program.number_after("signal") == signal);
  }
  CHECK(guarded.program.nobody_left());
}

TEST_CASE("all 28 signals that a program can take pass through") {
  Guarded guarded({"--forward", victim("report_signals"), "28"});
  guarded.program.number_after("ready");
  for (int signal = 1; signal < 32; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP || signal == SIGCHLD) continue;
    ::kill(guarded.program.pid(), signal);
    CHECK(guarded.program.number_after("signal") == signal);
  }
  CHECK(guarded.program.wait() == ExitStatus{Exited{0}});
}

TEST_CASE("Ctrl-C in a terminal reaches the program once") {
  int terminal = -1;
  const std::string guarded = victim("guarded");
  const std::string reporter = victim("report_signals");
  const int pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    ::execl(guarded.c_str(), "guarded", "--forward", reporter.c_str(), "2", nullptr);
    ::_exit(127);
  }
  const UniqueFd owner(terminal);
  std::string said;
  const auto read_until = [&](const std::string& text) {
    char piece[256];
    while (said.find(text) == std::string::npos) {
      const ssize_t size = ::read(terminal, piece, sizeof(piece));
      if (size <= 0) return;
      said.append(piece, static_cast<std::size_t>(size));
    }
  };
  read_until("ready");
  REQUIRE(::write(terminal, "\x03", 1) == 1);
  read_until("signal 2");
  ::kill(pid, SIGUSR1);
  read_until("signal 10");
  CHECK(said.find("signal 2") == said.rfind("signal 2"));
  CHECK(said.find("signal 10") != std::string::npos);
}

TEST_CASE("TERM lets a program save its state, once, and ends what does not end") {
  SECTION("it is called once") {
    Guarded guarded({victim("slow_stop")});
    guarded.program.number_after("ready");
    ::kill(guarded.program.pid(), SIGTERM);
    CHECK(guarded.program.number_after("saved") == 1);
    guarded.program.close_stdin();
    CHECK(guarded.program.number_after("terms") == 1);
    CHECK(guarded.program.wait() == ExitStatus{Exited{0}});
  }
  SECTION("the grace ends") {
    Guarded guarded({"--impatient", victim("ignore_term")});
    guarded.program.number_after("ready");
    ::kill(guarded.program.pid(), SIGTERM);
    CHECK(guarded.program.wait() == ExitStatus{Exited{128 + SIGKILL}});
  }
}

TEST_CASE("Ctrl-Z stops the whole job, the shell sees it, and fg goes on with it") {
  Guarded guarded({victim("fork_orphan")});
  const int daemon = guarded.program.number_after("ready");
  ::kill(-guarded.program.pid(), SIGTSTP);
  CHECK(guarded.program.wait_stopped() == SIGTSTP);
  CHECK(becomes(daemon, "T"));
  CHECK(state_of(guarded.supervisor) == 'T');

  ::kill(-guarded.program.pid(), SIGCONT);
  CHECK(becomes(daemon, "S"));
  CHECK(becomes(guarded.supervisor, "S"));
  ::kill(guarded.program.pid(), SIGKILL);
  CHECK(guarded.program.nobody_left());
}

TEST_CASE("a suspended job does not outlive its guardian") {
  Guarded guarded({victim("fork_orphan")});
  const int daemon = guarded.program.number_after("ready");
  ::kill(-guarded.program.pid(), SIGTSTP);
  REQUIRE(guarded.program.wait_stopped() == SIGTSTP);
  REQUIRE(becomes(daemon, "T"));
  REQUIRE(becomes(guarded.supervisor, "T"));

  ::kill(guarded.program.pid(), SIGKILL);
  CHECK(guarded.program.nobody_left());
}

TEST_CASE("a supervisor that somebody stops and continues does not stop the guardian") {
  Guarded guarded({victim("slow_stop")});
  guarded.program.number_after("ready");
  ::kill(guarded.supervisor, SIGSTOP);
  REQUIRE(becomes(guarded.supervisor, "T"));
  ::kill(guarded.supervisor, SIGCONT);
  ::kill(guarded.program.pid(), SIGTERM);
  CHECK(guarded.program.number_after("saved") == 1);
  CHECK(becomes(guarded.program.pid(), "S"));
}

namespace {

// A guarded program that was started with HUP, INT and TERM ignored.
Program with_ignored_signals(const std::vector<std::string>& guarded) {
  std::string command = "trap '' HUP INT TERM; exec";
  for (const std::string& word : Guarded::with_guardian(guarded)) command += " " + word;
  return Program({"/bin/sh", "-c", command});
}

}  // namespace

TEST_CASE("what was ignored at the start reaches a program that listens to it") {
  Program program = with_ignored_signals({victim("report_signals"), "3"});
  program.number_after("supervisor");
  program.number_after("ready");
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    ::kill(program.pid(), signal);
    CHECK(program.number_after("signal") == signal);
  }
  CHECK(program.wait() == ExitStatus{Exited{0}});
}

TEST_CASE("what was ignored at the start ends neither us nor a program that leaves it ignored") {
  Program program =
      with_ignored_signals({"/bin/sh", "-c", "'echo ready $$; read x; echo saved 1'"});
  const int supervisor = program.number_after("supervisor");
  program.number_after("ready");
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGINT, SIGTERM}) ::kill(program.pid(), signal);
  REQUIRE(eventually([&] { return has_taken_its_signals(program.pid()); }));
  REQUIRE(eventually([&] { return has_taken_its_signals(supervisor); }));
  program.close_stdin();
  CHECK(program.number_after("saved") == 1);
  CHECK(program.wait() == ExitStatus{Exited{0}});
}

TEST_CASE(
    "children that a shell had before it became the guardian are spared, with what is below") {
  // The subshell leaves an orphan that the guardian adopts, of its own session.
  Program program(
      {"/bin/bash", "-c",
       "sleep 300 & echo before $!; (setsid sh -c 'sleep 300 & echo orphan $!') & wait -n; "
       "exec " +
           victim("guarded") + " " + victim("exit_with") + " 3"});
  int before = 0;
  int orphan = 0;
  for (std::string line = program.line(); !line.starts_with("supervisor"); line = program.line())
    (line.starts_with("before") ? before : orphan) = std::stoi(line.substr(line.find(' ')));
  CHECK(program.wait() == ExitStatus{Exited{3}});
  CHECK(::kill(before, 0) == 0);
  CHECK(::kill(orphan, 0) == 0);
  ::kill(before, SIGKILL);
  ::kill(orphan, SIGKILL);
  CHECK(program.nobody_left());
}

TEST_CASE("a second INT that a stopped supervisor does not read ends the job all the same") {
  const int second = GENERATE(SIGINT, SIGTERM);
  Guarded guarded({victim("ignore_term")});
  guarded.program.number_after("ready");
  ::kill(guarded.supervisor, SIGSTOP);
  REQUIRE(becomes(guarded.supervisor, "T"));
  ::kill(guarded.program.pid(), SIGINT);
  REQUIRE(eventually([&] { return has_taken_its_signals(guarded.program.pid()); }));
  ::kill(guarded.program.pid(), second);
  CHECK(guarded.program.nobody_left());
  CHECK(guarded.program.wait() == ExitStatus{Exited{128 + SIGINT}});
}

TEST_CASE("a supervisor that reads the second INT keeps the job in its own hands") {
  Guarded guarded({"--forward", victim("report_signals"), "3"});
  guarded.program.number_after("ready");
  for (int sent = 0; sent < 2; ++sent) {
    ::kill(guarded.program.pid(), SIGINT);
    CHECK(guarded.program.number_after("signal") == SIGINT);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1'500));  // longer than an answer may take
  ::kill(guarded.program.pid(), SIGUSR1);
  CHECK(guarded.program.number_after("signal") == SIGUSR1);
  CHECK(guarded.program.wait() == ExitStatus{Exited{0}});
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need memory themselves

TEST_CASE("the guardian stays under a megabyte of its own and sleeps") {
  Guarded guarded({victim("go_silent")});
  guarded.program.number_after("ready");
  std::ifstream rollup("/proc/" + std::to_string(guarded.program.pid()) + "/smaps_rollup");
  long private_kb = 0;
  for (std::string word; rollup >> word;)
    if (word == "Private_Dirty:" && rollup >> word) private_kb = std::stol(word);
  CHECK(private_kb > 0);
  CHECK(private_kb < 1024);
  CHECK(becomes(guarded.program.pid(), "S"));
}

#endif
