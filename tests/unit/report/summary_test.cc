#include "safelaunch/report/summary.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "safelaunch/base/paper.h"

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

TEST_CASE("the closing screen of a healed job begins with what worked, and tells what hung",
          "[summary]") {
  RunSummary summary = healed_summary();
  summary.directory = "/runs/7";
  CHECK(laid_out(closing_screen(summary), {}) ==
        "worked with gloo-fallback; cost: large\n"
        "  attempt 1  basic           hung, stopped after 32s (group 3/4): rank-missing\n"
        "      ranks 0 1 3 waited for rank 2\n"
        "      cause: rank-missing (confirmed)\n"
        "      help: see rank 2\n"
        "  attempt 2  gloo-fallback   completed in 14s\n"
        "  files: /runs/7");
}

TEST_CASE("the closing screen of a hang begins with who hung and where, the way out follows",
          "[summary]") {
  RunSummary summary = healed_summary();
  summary.attempts.resize(1);
  summary.attempts[0].next.clear();
  summary.attempts[0].failure->headline = "rank 2 never joined the process group";
  summary.attempts[0].failure->places = {"train.py:3 in load:  time.sleep(9)"};
  summary.attempts[0].failure->details = "Ranks 0, 1 and 3 waited 30s for it.";
  summary.exit_code = 124;
  summary.stopped_because = "no profile is left";
  summary.directory = "/runs/7";
  const std::string screen = closing_screen(summary, Fallbacks::told);
  CHECK(screen.starts_with("\x1b[1;31mhung:\x1b[0m \x1b[1mrank 2 never"));
  CHECK(laid_out(screen, {}) ==
        "hung: rank 2 never joined the process group\n"
        "  --> train.py:3 in load:  time.sleep(9)\n"
        "  Ranks 0, 1 and 3 waited 30s for it.\n"
        "  cause: rank-missing (confirmed)\n"
        "  help: see rank 2\n"
        "  attempt 1  basic           hung, stopped after 32s (group 3/4)\n"
        "  exit status 124: no profile is left\n"
        "  more: safelaunch report a1b2c3\n"
        "  page: /runs/7/report.html");
}

TEST_CASE("a record without a headline, of an older version, is told by its title", "[summary]") {
  RunSummary summary = healed_summary();
  summary.attempts.resize(1);
  CHECK(laid_out(closing_screen(summary), {}).starts_with("hung: a rank never came\n"));
  summary.attempts[0].failure->title.clear();
  CHECK(laid_out(closing_screen(summary), {}).starts_with("hung: after 32s\n"));
}

TEST_CASE("a verdict that was told at its fallback is not told again in the closing", "[summary]") {
  RunSummary summary = healed_summary();
  summary.cost = "large (gloo in place of NCCL)";
  CHECK(laid_out(closing_screen(summary), {})
            .starts_with("worked with gloo-fallback; cost: " + summary.cost));
  CHECK(laid_out(closing_screen(summary, Fallbacks::told), {}) ==
        "worked with gloo-fallback; cost: large\n"
        "  attempt 1  basic           hung, stopped after 32s (group 3/4): rank-missing\n"
        "      help: see rank 2\n"
        "  attempt 2  gloo-fallback   completed in 14s");
}

TEST_CASE("what outcome.json keeps is the same screen again", "[summary]") {
  RunSummary summary = healed_summary();
  Failure& failure = *summary.attempts[0].failure;
  failure.headline = "rank 2 never came", failure.details = "It slept.";
  failure.places = {"train.py:3 in load"}, failure.lines = {"a line"};
  const auto read = read_outcome(outcome_json(summary));
  REQUIRE(read);
  CHECK(closing_screen(*read) == closing_screen(summary));
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
