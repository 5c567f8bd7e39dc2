#include "safelaunch/report/summary.h"

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::report;
using namespace std::chrono_literals;

namespace {

AttemptSummary hung_attempt_of_rank_1() {
  AttemptSummary attempt;
  attempt.profile = "basic";
  attempt.took = 32s;
  attempt.stages = "group 3/4";
  attempt.failure = Failure{.kind = FailureKind::hung,
                            .certainty = Certainty::confirmed,
                            .cause = "rank-missing",
                            .title = "a rank never came",
                            .explanation = "ranks 0 1 3 waited for rank 2",
                            .remedy = "see rank 2"};
  attempt.next = "gloo-fallback: next in the chain";
  return attempt;
}

RunSummary healed_summary() {
  RunSummary summary;
  summary.run_id = "20261120-153012-a1b2c3";
  summary.command = {"torchrun", "train.py"};
  summary.attempts = {hung_attempt_of_rank_1(), {}};
  summary.attempts[1].number = 2;
  summary.attempts[1].profile = "gloo-fallback";
  summary.attempts[1].took = 14s;
  summary.cost = "large";
  return summary;
}

}  // namespace

TEST_CASE("the closing screen tells what hung, why, and what worked", "[summary]") {
  const std::string screen = closing_screen(healed_summary(), Colour::off);
  CHECK(screen.find("attempt 1  basic          hung, stopped after 32s  (group 3/4)") !=
        std::string::npos);
  CHECK(screen.find("cause: a rank never came (rank-missing, confirmed)") != std::string::npos);
  CHECK(screen.find("worked with gloo-fallback; cost: large") != std::string::npos);
  CHECK(screen.find('\x1b') == std::string::npos);
}

TEST_CASE("a verdict that was told at its fallback is not told again in the closing", "[summary]") {
  RunSummary summary = healed_summary();
  summary.cost = "large (gloo in place of NCCL)";
  const std::string screen = closing_screen(summary, Colour::off, "safelaunch: ", Fallbacks::told);
  CHECK(closing_screen(summary, Colour::off, "").ends_with("; cost: " + summary.cost));
  CHECK(
      screen ==
      "safelaunch: what happened\n"
      "safelaunch:   attempt 1  basic          hung, stopped after 32s  (group 3/4): rank-missing\n"
      "safelaunch:       remedy: see rank 2\n"
      "safelaunch:   attempt 2  gloo-fallback  completed in 14s\n"
      "safelaunch: worked with gloo-fallback; cost: large");
}

TEST_CASE("outcome.json holds the same as values", "[summary]") {
  const auto json = nlohmann::json::parse(outcome_json(healed_summary()));
  CHECK(json["worked_with"] == "gloo-fallback");
  CHECK(json["exit_status"] == 0);
  CHECK(json["attempts"][0]["end"] == "hung");
  CHECK(json["attempts"][0]["cause"]["id"] == "rank-missing");
  CHECK(json["attempts"][1]["seconds"] == 14.0);
}

TEST_CASE("every word for an attempt's end is read back as it was written", "[summary]") {
  for (const std::string word : {"completed", "failed", "failed in communication", "hung",
                                 "stalled in training", "interrupted", "given up"}) {
    const auto told = read_outcome(R"({"attempts": [{"attempt": 1, "end": ")" + word + R"("}]})");
    REQUIRE(told);
    CHECK(nlohmann::json::parse(outcome_json(*told))["attempts"][0]["end"] == word);
  }
  const auto newer = read_outcome(R"({"attempts": [{"attempt": 1, "end": "vanished"}]})");
  CHECK(std::string(end_name(newer->attempts.front().failure)) == "failed");
}

TEST_CASE("all that stands still before training is a hang in the record", "[summary]") {
  for (const FailureKind kind :
       {FailureKind::hung, FailureKind::stood_still, FailureKind::driver_silent})
    CHECK(std::string(end_name(Failure{.kind = kind})) == "hung");
  for (const FailureKind kind : {FailureKind::raised, FailureKind::duplicate_rank}) {
    CHECK(std::string(end_name(Failure{.kind = kind})) == "failed");
    CHECK(std::string(end_name(Failure{.kind = kind, .communication = true})) ==
          "failed in communication");
  }
}

TEST_CASE("broken UTF-8 of a job does not spoil the record", "[summary]") {
  RunSummary summary = healed_summary();
  summary.attempts[0].failure->lines = {"bad \xff\xfe bytes"};
  CHECK(nlohmann::json::accept(outcome_json(summary)));
}

TEST_CASE("a job that ran at once, or failed by itself, needs no word of ours", "[summary]") {
  RunSummary summary;
  summary.attempts = {{}};
  CHECK_FALSE(worth_telling(summary));
  summary.attempts[0].failure = Failure{};
  CHECK(worth_telling(summary));
  summary.attempts[0].told_by_itself = true;
  CHECK_FALSE(worth_telling(summary));
  CHECK(worth_telling(healed_summary()));
}
