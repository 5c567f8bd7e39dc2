#include "safelaunch/probe/verdict.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;

TEST_CASE("a phase's line is read") {
  const auto report =
      parse_phase_report(R"({"phase":"library","ms":1.5,"nccl":"2.28.9","unknown":[1,2]})");
  REQUIRE(report);
  CHECK(report->phase == Phase::library);
  CHECK(report->result == PhaseResult::done);
  CHECK(report->ms == 1.5);
  CHECK(report->nccl == "2.28.9");
}

TEST_CASE("failures and refusals keep their words") {
  const auto failed = parse_phase_report(R"({"phase":"init","ms":3,"failed":"no luck"})");
  REQUIRE(failed);
  CHECK(failed->result == PhaseResult::failed);
  CHECK(failed->words == "no luck");
  const auto declined = parse_phase_report(R"({"phase":"context","declined":"no room"})");
  REQUIRE(declined);
  CHECK(declined->result == PhaseResult::declined);
  CHECK(declined->words == "no room");
}

TEST_CASE("garbage is no line") {
  for (const char* line :
       {"", "{", "null", "[]", "7", R"("phase")", R"({"phase":7})", R"({"phase":"dance"})",
        "{\"phase\":\"init\",\"ms\":\"\xff\"}", R"({"ms":1})"})
    CHECK_FALSE(parse_phase_report(line));
}

TEST_CASE("numbers that cannot be are left out, and endless words are cut") {
  CHECK_FALSE(parse_phase_report(R"({"phase":"bandwidth","gb_per_s":1e999})"));
  const auto report =
      parse_phase_report(R"({"phase":"bandwidth","ms":-4,"gb_per_s":-1,"failed":")" +
                         std::string(9999, 'x') + R"("})");
  REQUIRE(report);
  CHECK(report->ms == 0);
  CHECK_FALSE(report->gb_per_s);
  CHECK(report->words.size() == 2000);
}

TEST_CASE("each phase's name reads back") {
  for (int i = 0; i < kProbePhaseCount; ++i) {
    const auto phase = static_cast<Phase>(i);
    CHECK(probe_phase(name(phase)) == phase);
  }
}
