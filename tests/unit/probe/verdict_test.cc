#include "safelaunch/probe/verdict.h"

#include "catch.h"

using namespace safelaunch;

TEST_CASE("steps show how far a probe came") {
  CHECK(steps(ProbeWorks{}, 2) == "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✓");
  CHECK(steps(ProbeFailed{{{1, ProbePhase::first_all_reduce, "x"}}}, 2) ==
        "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✗");
  CHECK(steps(ProbeFailed{{{1, ProbePhase::checked, "x"}}}, 2) ==
        "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✗");
  CHECK(steps(ProbeHung{ProbePhase::library, {0}}, 2) == "driver ✓ device ✓ nccl ✗");
  CHECK(steps(ProbeHung{ProbePhase::bandwidth, {0}}, 2) ==
        "driver ✓ device ✓ nccl ✓ init ✓ all_reduce ✓ bandwidth ✗");
  CHECK(steps(ProbeHung{ProbePhase::driver, {0}}, 2) == "driver ✗");
  CHECK(steps(ProbeUntold{"no room"}, 2) == "not probed");
}

TEST_CASE("a rank alone proves no all_reduce") {
  CHECK(steps(ProbeWorks{}, 1) == "driver ✓ device ✓ nccl ✓ init ✓");
}

TEST_CASE("the reason names the ranks") {
  CHECK(reason(ProbeWorks{}).empty());
  CHECK(reason(ProbeHung{ProbePhase::init, {3}}) == "rank 3: no answer within the deadline");
  CHECK(reason(ProbeHung{ProbePhase::init, {0, 3}}) == "ranks 0 3: no answer within the deadline");
  CHECK(reason(ProbeFailed{{{1, ProbePhase::init, "unhandled system error"},
                            {0, ProbePhase::init, "remote error"}}}) ==
        "rank 1: unhandled system error");
  CHECK(reason(ProbeUntold{"no room"}) == "no room");
}

TEST_CASE("the bus bandwidth is that of nccl-tests") {
  CHECK_FALSE(bus_bandwidth(10, 1));
  CHECK(bus_bandwidth(10, 2) == 10.0);
  CHECK(bus_bandwidth(10, 8) == 17.5);
}
