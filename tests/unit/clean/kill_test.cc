#include "safelaunch/clean/removal.h"

#include <signal.h>

#include "catch.h"
#include "unit/host/child.h"

using namespace safelaunch;

using namespace safelaunch::clean;
using namespace std::chrono_literals;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;

namespace {

constexpr EndLimits kPatient{60s, 60s};
constexpr EndLimits kImpatient{1ms, 60s};

EndResult end_one(ProcessId process, EndLimits limits) {
  const std::vector processes{process};
  return end_processes(processes, limits).at(0).result;
}

/// Says that it ignores SIGTERM before the test goes on.
struct Stubborn {
  Stubborn()
      : before(::signal(SIGTERM, SIG_IGN)), child([] {
          for (;;) ::pause();
        }) {
    ::signal(SIGTERM, before);
  }
  void (*before)(int);
  Child child;
};

}  // namespace

TEST_CASE("a process that heeds SIGTERM ends in the grace") {
  Child child([] { ::pause(); });
  CHECK(end_one(child.id(), kPatient) == EndResult::ended);
  CHECK_FALSE(host::is_running(child.id()));
}

TEST_CASE("a process that ignores SIGTERM is killed after it") {
  Stubborn stubborn;
  CHECK(end_one(stubborn.child.id(), kImpatient) == EndResult::killed);
  CHECK_FALSE(host::is_running(stubborn.child.id()));
}

TEST_CASE("a stopped process hears SIGTERM too") {
  Child child([] { ::pause(); });
  ::kill(child.pid(), SIGSTOP);
  REQUIRE(eventually([&] { return host::facts_of(child.pid())->state == 'T'; }));
  CHECK(end_one(child.id(), kPatient) == EndResult::ended);
}

TEST_CASE("a process that got the pid of the one we meant is never signalled") {
  Child innocent([] { ::pause(); });
  auto meant = innocent.id();
  meant.start_ticks -= 1;

  CHECK(end_one(meant, kImpatient) == EndResult::gone_before);
  CHECK(host::is_running(innocent.id()));
}

TEST_CASE("an ended process, reaped or not, is gone") {
  Child zombie([] {});
  REQUIRE(eventually([&] { return host::facts_of(zombie.pid())->state == 'Z'; }));
  CHECK(end_one(zombie.id(), kImpatient) == EndResult::gone_before);

  const auto id = zombie.id();
  zombie.end();
  CHECK(end_one(id, kImpatient) == EndResult::gone_before);
}

TEST_CASE("a process whose main thread alone has ended is ended too") {
  Child child([] { testing::leave_to_another_thread(); });
  REQUIRE(eventually([&] { return host::facts_of(child.pid())->state == 'Z'; }));
  CHECK(end_one(child.id(), kPatient) == EndResult::ended);
  CHECK_FALSE(host::is_running(child.id()));
}

TEST_CASE("several processes end together, each with its own result, in their order") {
  Child polite([] { ::pause(); });
  Child gone([] { ::pause(); });
  const auto gone_id = gone.id();
  gone.end();
  Stubborn stubborn;

  const std::vector all{stubborn.child.id(), gone_id, polite.id()};
  const auto results = end_processes(all, {5s, 60s});

  REQUIRE(results.size() == 3);
  CHECK(results[0].result == EndResult::killed);
  CHECK(results[1].result == EndResult::gone_before);
  CHECK(results[2].result == EndResult::ended);
  CHECK(results[2].process == polite.id());
}

TEST_CASE("a pid that means a group, or everybody, is signalled to nobody") {
  Child bystander([] { ::pause(); });
  for (const int pid : {0, -1, -bystander.pid()}) {
    const EndResult result = end_one({pid, 0}, kImpatient);
    CHECK((result == EndResult::refused || result == EndResult::gone_before));
  }
  CHECK(host::is_running(bystander.id()));
}

TEST_CASE("nobody to end takes no time and has no result") {
  CHECK(end_processes({}, kPatient).empty());
}
