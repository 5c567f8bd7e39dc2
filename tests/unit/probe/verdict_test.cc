#include "safelaunch/probe/verdict.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;

TEST_CASE("steps show how far a probe came") {
  CHECK(steps(Works{}, 2) == "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✓");
  CHECK(steps(Failed{{{1, Phase::first_all_reduce, "x"}}}, 2) ==
        "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✗");
  CHECK(steps(Failed{{{1, Phase::checked, "x"}}}, 2) ==
        "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✗");
  CHECK(steps(Hung{Phase::library, {0}}, 2) == "driver ✓ device ✓ nccl ✗");
  CHECK(steps(Hung{Phase::bandwidth, {0}}, 2) ==
        "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✓ bandwidth ✗");
  CHECK(steps(Hung{Phase::driver, {0}}, 2) == "driver ✗");
  CHECK(steps(Untold{"no room"}, 2) == "not probed");
}

TEST_CASE("a rank alone proves no all_reduce") {
  CHECK(steps(Works{}, 1) == "driver ✓ device ✓ nccl ✓ init ✓");
}

TEST_CASE("the reason names the ranks") {
  CHECK(reason(Works{}).empty());
  CHECK(reason(Hung{Phase::init, {3}}) == "rank 3: no answer within the deadline");
  CHECK(reason(Hung{Phase::init, {0, 3}}) == "ranks 0 3: no answer within the deadline");
  CHECK(reason(Failed{{{1, Phase::init, "unhandled system error"},
                       {0, Phase::init, "remote error"}}}) == "rank 1: unhandled system error");
  CHECK(reason(Untold{"no room"}) == "no room");
}

TEST_CASE("the bus bandwidth is that of nccl-tests") {
  CHECK_FALSE(bus_bandwidth(10, 1));
  CHECK(bus_bandwidth(10, 2) == 10.0);
  CHECK(bus_bandwidth(10, 8) == 17.5);
}

TEST_CASE("each phase belongs to the step that a person sees") {
  const auto stopped_in = [](Phase phase) {
    const std::string text = steps(Hung{phase, {0}}, 2);
    return text.substr(text.rfind("✓") == text.npos ? 0 : text.rfind("✓") + 4);
  };
  CHECK(stopped_in(Phase::driver) == "driver ✗");
  CHECK(stopped_in(Phase::context) == "device ✗");
  CHECK(stopped_in(Phase::library) == "nccl ✗");
  CHECK(stopped_in(Phase::unique_id) == "nccl ✗");
  CHECK(stopped_in(Phase::init) == "init ✗");
  CHECK(stopped_in(Phase::first_all_reduce) == "all_reduce ✗");
  CHECK(stopped_in(Phase::checked) == "all_reduce ✗");
  CHECK(stopped_in(Phase::bandwidth) == "bandwidth ✗");
}

TEST_CASE("a rank alone that fails in an all_reduce is shown so") {
  CHECK(steps(Hung{Phase::checked, {0}}, 1) == "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✗");
}

TEST_CASE("a verdict stops at the phase of its first failure, and one that works nowhere") {
  CHECK(stopped_at(Failed{{{1, Phase::checked, ""}, {0, Phase::driver, ""}}}) == Phase::checked);
  CHECK(stopped_at(Hung{Phase::init, {}}) == Phase::init);
  CHECK_FALSE(stopped_at(Works{}));
  CHECK_FALSE(stopped_at(Untold{"no"}));
  CHECK_FALSE(stopped_at(Failed{}));
  CHECK(reason(Failed{}).empty());
}
