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

TEST_CASE("a line that was cut anywhere is none") {
  const std::string whole = R"({"phase":"library","ms":1.5,"nccl":"2.28.9"})";
  for (std::size_t size = 0; size < whole.size(); ++size)
    if (parse_phase_report(whole.substr(0, size))) FAIL(whole.substr(0, size));
}

TEST_CASE("each fact of a line reads, and one of another type reads as not told") {
  const auto whole = parse_phase_report(
      R"({"phase":"driver","ms":2,"device":"NVIDIA H100","id":"c0","gb_per_s":4.5})");
  REQUIRE(whole);
  CHECK(whole->device == "NVIDIA H100");
  CHECK(whole->id == "c0");
  CHECK(whole->gb_per_s == 4.5);
  const auto odd = parse_phase_report(
      R"({"phase":"driver","ms":"2","device":7,"id":[],"nccl":{},"gb_per_s":true})");
  REQUIRE(odd);
  CHECK(odd->ms == 0);
  CHECK(odd->device.empty());
  CHECK(odd->id.empty());
  CHECK(odd->nccl.empty());
  CHECK_FALSE(odd->gb_per_s);
}

TEST_CASE("a failure without words is a failure, and one that declines too has failed") {
  for (const char* line : {R"({"phase":"init","failed":""})", R"({"phase":"init","failed":null})",
                           R"({"phase":"init","failed":7,"declined":"no room"})"}) {
    const auto report = parse_phase_report(line);
    REQUIRE(report);
    CHECK(report->result == PhaseResult::failed);
    CHECK(report->words.empty());
  }
}

TEST_CASE("of a key that comes twice the last counts") {
  CHECK(parse_phase_report(R"({"phase":"init","phase":"driver"})")->phase == Phase::driver);
}

TEST_CASE("a line that nests without end is none, and fills no stack") {
  CHECK_FALSE(parse_phase_report(std::string(100'000, '[')));
  CHECK(parse_phase_report(R"({"phase":"init","x":)" + std::string(10'000, '[') +
                           std::string(10'000, ']') + "}"));
}

TEST_CASE("only a phase's own word is one") {
  for (const char* word : {"", "Driver", "driver ", "all_reduce", "nccl"})
    CHECK_FALSE(probe_phase(word));
}

TEST_CASE("a unique id is of small hexadecimal digits, 256 at most") {
  CHECK(is_unique_id("0"));
  CHECK(is_unique_id("0123456789abcdef"));
  CHECK(is_unique_id(std::string(256, 'f')));
  CHECK_FALSE(is_unique_id(std::string(257, 'f')));
  for (const char* text : {"", "F", "0x0", "0 ", "g", "0\n"}) CHECK_FALSE(is_unique_id(text));
}
