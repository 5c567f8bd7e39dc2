#include "safelaunch/ranks/nameless.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.h"
#include "tests/unit/host/fake_process_table.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace safelaunch::testing;

TEST_CASE("a Python that is no rank, nor above or below one, may yet come as one",
          "[nameless][bug]") {
  constexpr unsigned kMe = 1000;
  FakeProcessTable table;
  table.add(1, 0, kMe, "safelaunch").add(2, 1, kMe, "bash");
  table.add(10, 2, kMe, "python3").add(11, 10, kMe, "python3").add(12, 11, kMe, "python3");
  const std::set<ProcessId> ranks{table.facts(11)->id};  // 10 has started it, 12 loads its data
  CHECK(nameless_below(table.facts(1)->id, ranks, table).empty());
  table.add(20, 2, kMe, "python3.11").add(21, 2, kMe, "tensorboard");
  CHECK(nameless_below(table.facts(1)->id, ranks, table) == std::vector{20});
}

TEST_CASE("a Python above a rank has started it, and a shell has not", "[nameless]") {
  constexpr unsigned kMe = 1000;
  FakeProcessTable table;
  table.add(1, 0, kMe, "safelaunch").add(2, 1, kMe, "bash").add(10, 2, kMe, "python3");
  table.add(11, 10, kMe, "python3");
  const auto started = [&](int rank) {
    return python_has_started({table.facts(rank)->id}, table.facts(1)->id, table);
  };
  CHECK(started(11));
  CHECK_FALSE(started(10));
}

TEST_CASE("a process that has named no rank is told with its command", "[nameless]") {
  CHECK(describe_nameless({}).empty());
  const std::string own = describe_nameless({::getpid()});
  CHECK(own.starts_with("pid " + std::to_string(::getpid()) + " ("));
  CHECK(own.ends_with(") has not said which rank it is"));
}

TEST_CASE("a process that has named no rank and is stopped is told so", "[nameless][bug]") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, WUNTRACED);
  CHECK(
      describe_nameless({child}).ends_with(", stopped by a signal) has not said which rank it is"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}
