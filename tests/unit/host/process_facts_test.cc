#include "safelaunch/host/process_facts.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include <algorithm>

#include "catch.h"
#include "child.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace std::chrono_literals;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;

TEST_CASE("a name with blanks and parentheses does not shift the fields of stat") {
  const auto facts = parse_stat(
      "71 (a) S (b) S 12 71 70 34816 71 4194560 1 2 3 4 150 50 20 30 20 0 3 0 4711 9 9", 100s);

  REQUIRE(facts);
  CHECK(facts->id == ProcessId{71, 4711});
  CHECK(facts->comm == "a) S (b");
  CHECK(facts->state == 'S');
  CHECK(facts->parent == 12);
  CHECK(facts->group == 71);
  CHECK(facts->session == 70);
  CHECK(facts->terminal == 34816);
  CHECK(facts->threads == 3);
  CHECK(facts->cpu == 2500ms);
  CHECK(facts->age == 100s - 47110ms);
}

TEST_CASE("a stat line that is cut or empty is no process") {
  CHECK_FALSE(parse_stat("", 1s));
  CHECK_FALSE(parse_stat("71 (python", 1s));
  CHECK_FALSE(parse_stat("71 (python) ", 1s));
  CHECK_FALSE(parse_stat("71 (python) S 12 71", 1s));
}

TEST_CASE("a killed thread in uninterruptible sleep is stuck, and only such a one") {
  const auto stat = [](const char* state, unsigned flags, unsigned pending) {
    return fmt::format(
        "71 (a) D (b) {} 1 71 71 0 -1 {} 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 10 11 12 13 "
        "14 15 16 {} 0 0 0 0",
        state, flags, pending);
  };
  constexpr unsigned kUsual = 4194560, kExiting = kUsual | 4, kKill = 256, kTerm = 16384;
  CHECK(is_stuck(stat("D", kUsual, kKill)));
  CHECK(is_stuck(stat("D", kExiting, 0)));
  CHECK_FALSE(is_stuck(stat("D", kUsual, kTerm)));
  CHECK_FALSE(is_stuck(stat("S", kExiting, kKill)));
  CHECK_FALSE(is_stuck("71 (a) D"));
  CHECK_FALSE(is_stuck(""));
  CHECK_FALSE(stuck_in(::getpid()));
}

TEST_CASE("we know ourselves") {
  const auto facts = facts_of(self());

  REQUIRE(facts);
  CHECK(facts->id.pid == ::getpid());
  CHECK(facts->parent == ::getppid());
  CHECK(facts->uid == ::geteuid());
  CHECK(facts->state == 'R');
  CHECK(is_running(self()));
}

TEST_CASE("a process with the same pid and another start time is another process") {
  auto reused = self();
  reused.start_ticks -= 1;

  CHECK_FALSE(facts_of(reused));
  CHECK_FALSE(is_running(reused));
}

TEST_CASE("a zombie does not run") {
  Child child([] {});

  CHECK(eventually([&] { return facts_of(child.pid())->state == 'Z'; }));
  CHECK_FALSE(is_running(child.id()));
}

TEST_CASE("a process whose main thread alone has ended runs on, and its environment can be read") {
  Child child([] { testing::leave_to_another_thread(); });

  REQUIRE(eventually([&] { return facts_of(child.pid())->state == 'Z'; }));
  CHECK(is_running(child.id()));
  CHECK(raw_environment_of(child.pid(), ::geteuid()) == raw_environment_of(::getpid(), {}));
}

TEST_CASE("a process that /proc hides is neither seen to run nor taken for ended") {
  if (::geteuid() != 0) return;  // a /proc of our own is only to be had by root
  auto ended = self();
  {
    Child child([] {});
    ended = child.id();
  }
  std::array<int, 2> tell{};
  REQUIRE(::pipe(tell.data()) == 0);
  Child who_sees_nobody([&] {
    const bool blind = ::unshare(CLONE_NEWNS) == 0 &&
                       ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
    const std::array lives{blind, life_of({::getppid(), 1}) == Life::hidden,
                           life_of(ended) == Life::ended};
    static_cast<void>(::write(tell[1], &lives, sizeof lives));
  });
  std::array<bool, 3> lives{};
  REQUIRE(::read(tell[0], &lives, sizeof lives) == sizeof lives);
  CHECK((!lives[0] || lives[1]));  // in a container root may not be allowed to mount
  CHECK(lives[2]);
  ::close(tell[0]);
  ::close(tell[1]);
}

TEST_CASE("of a process that has vanished nothing is known") {
  Child child([] { ::pause(); });
  const int pid = child.pid();
  child.end();

  CHECK_FALSE(facts_of(pid));
  CHECK_FALSE(environment_of(pid));
  CHECK_FALSE(raw_environment_of(pid, std::nullopt));
  CHECK_FALSE(io_bytes_of(pid));
  CHECK_FALSE(pid_namespace_of(pid));
  CHECK(command_line_of(pid).empty());
  CHECK(thread_names_of(pid).empty());
  CHECK(ancestors_of(pid).empty());
}

TEST_CASE("words and variables are read as they were given to exec") {
  // The shell, not sleep, is read: it waits for its child because of the second command.
  Child child([] {
    ::setenv("SAFELAUNCH_TEST", "one=two three", 1);
    ::execl("/bin/sh", "sh", "-c", "sleep 1000; true", "a b", "", nullptr);
  });

  // Inside exec there are no words, then no variables; these come last.
  REQUIRE(eventually([&] {
    const auto environment = environment_of(child.pid());
    return environment && environment->contains("SAFELAUNCH_TEST");
  }));
  CHECK(command_line_of(child.pid()) ==
        std::vector<std::string>{"sh", "-c", "sleep 1000; true", "a b", ""});
  CHECK(environment_of(child.pid())->at("SAFELAUNCH_TEST") == "one=two three");
  const auto raw = raw_environment_of(child.pid(), ::geteuid());
  REQUIRE(raw);
  CHECK(variable_in(*raw, "SAFELAUNCH_TEST") == "one=two three");
  CHECK_FALSE(variable_in(*raw, "SAFELAUNCH_TES"));
  CHECK_FALSE(raw_environment_of(child.pid(), ::geteuid() + 1));
}

TEST_CASE("what is read and written is counted") {
  const auto before = io_bytes_of(::getpid());
  REQUIRE(before);
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const std::string data(50'000, 'x');
  REQUIRE(::write(pipe[1], data.data(), data.size()) == 50'000);
  ::close(pipe[0]);
  ::close(pipe[1]);

  CHECK(*io_bytes_of(::getpid()) >= *before + 50'000);
}

TEST_CASE("mapped libraries and names of threads are seen") {
  CHECK(maps_contain(::getpid(), "libc.so"));
  CHECK_FALSE(maps_contain(::getpid(), "libtorch_python.so"));

  Child child([] {
    ::prctl(PR_SET_NAME, "pt_elastic");
    ::pause();
  });
  CHECK(eventually(
      [&] { return thread_names_of(child.pid()) == std::vector<std::string>{"pt_elastic"}; }));
}

TEST_CASE("a child is in our namespace and cgroup, and below us") {
  Child child([] { ::pause(); });

  CHECK(pid_namespace_of(child.pid()) == pid_namespace_of(::getpid()));
  CHECK(cgroup_of(child.pid()) == cgroup_of(::getpid()));
  const auto ancestors = ancestors_of(child.pid());
  REQUIRE_FALSE(ancestors.empty());
  CHECK(ancestors.front() == ::getpid());
  CHECK(std::ranges::find(ancestors, child.pid()) == ancestors.end());
}

TEST_CASE("a variable of a raw environment is found by its whole name, the first one counts") {
  using std::string_view_literals::operator""sv;
  constexpr auto kRaw = "A=1\0AB=2\0EMPTY=\0NOEQUALS\0A=3\0=odd\0"sv;
  CHECK(variable_in(kRaw, "A") == "1");
  CHECK(variable_in(kRaw, "AB") == "2");
  CHECK(variable_in(kRaw, "EMPTY") == "");
  CHECK(variable_in(kRaw, "NOEQUALS") == "");
  CHECK_FALSE(variable_in(kRaw, "B"));
  CHECK_FALSE(variable_in("", "A"));
  CHECK(variable_in("A=torn", "A") == "torn");
}

TEST_CASE("a process has ended where its last thread has") {
  ProcessFacts facts;
  facts.threads = 1;
  for (const char state : {'Z', 'X'}) {
    facts.state = state;
    CHECK(facts.has_ended());
  }
  for (const char state : {'R', 'S', 'D', 'T', 't', 'I', '?'}) {
    facts.state = state;
    CHECK_FALSE(facts.has_ended());
  }
  facts.state = 'Z';
  facts.threads = 2;
  CHECK_FALSE(facts.has_ended());
}

TEST_CASE("a clock that stands before the start of a process makes it no age") {
  CHECK(parse_stat("71 (a) S 1 71 71 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99999999 0 0", 1s)->age ==
        0ms);
}

TEST_CASE("no process has a pid that is none, and nobody is signalled to learn it") {
  for (const int pid : {0, -1}) {
    CHECK_FALSE(facts_of(pid));
    CHECK_FALSE(is_running({pid, 0}));
    CHECK(ancestors_of(pid).empty());
    CHECK(gpus_opened_by(pid).empty());
  }
}
