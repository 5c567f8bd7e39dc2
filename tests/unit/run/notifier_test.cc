#include "launcher/run/notifier.h"

#include <nlohmann/json.hpp>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::run;

namespace {

report::AttemptSummary hung_attempt() {
  report::AttemptSummary attempt;
  attempt.profile = "basic";
  attempt.failure.emplace().kind = FailureKind::hung;
  attempt.failure->missing.push_back({.rank = Rank{3}});
  attempt.failure->headline = "rank 3 never joined";
  attempt.failure->cause = "rank-missing";
  attempt.failure->remedy = "See what it does.";
  attempt.failure->places = {"train.py:12 in load"};
  return attempt;
}

report::AttemptSummary good_attempt(int number) {
  report::AttemptSummary attempt;
  attempt.number = number;
  attempt.profile = "no-shm";
  return attempt;
}

}  // namespace

TEST_CASE("a hang is told with its rank, cause, help and place", "[notifier]") {
  const auto notice = notice_of(hung_attempt());
  REQUIRE(notice);
  CHECK(notice->event == "hung");
  report::RunSummary run;
  run.run_id = "r1";
  const auto json = nlohmann::json::parse(in_json(*notice, run, redact::Redactor()));
  CHECK(json["event"] == "hung");
  CHECK(json["text"] == "rank 3 never joined");
  CHECK(json["ranks"] == nlohmann::json{3});
  CHECK(json["cause"] == "rank-missing");
  CHECK(json["help"] == "See what it does.");
  CHECK(json["places"] == nlohmann::json{"train.py:12 in load"});
  CHECK(json["run"] == "r1");
  CHECK_FALSE(json.contains("exit_status"));
}

TEST_CASE("an attempt that failed is told at the end of its run alone", "[notifier]") {
  report::AttemptSummary failed = hung_attempt();
  failed.failure->kind = FailureKind::failed;
  CHECK_FALSE(notice_of(failed));
  CHECK_FALSE(notice_of(good_attempt(1)));
}

TEST_CASE("the end of a run is told as healed, failed or ended", "[notifier]") {
  report::RunSummary run;
  CHECK(notice_of_end(run).event == "ended");
  run.attempts = {good_attempt(1)};
  CHECK(notice_of_end(run).event == "ended");
  run.attempts = {hung_attempt(), good_attempt(2)};
  CHECK(notice_of_end(run).event == "healed");
  CHECK(notice_of_end(run).profile == "no-shm");
  run.attempts = {good_attempt(1), hung_attempt()};
  run.exit_code = 124;
  CHECK(notice_of_end(run).event == "failed");
  CHECK(notice_of_end(run).exit_status == 124);
  run.attempts = {hung_attempt()};
  run.attempts.back().failure->headline.clear();
  run.stopped_because = "safelaunch was told to stop";
  CHECK(notice_of_end(run).text == "safelaunch was told to stop");
  run.attempts.clear();
  run.stopped_because = "the host's checks forbid it";
  CHECK(notice_of_end(run).event == "failed");
  CHECK(notice_of_end(run).text == "the host's checks forbid it");
}

TEST_CASE("of several ranks that failed the one is named of which the text tells", "[notifier]") {
  report::AttemptSummary failed = hung_attempt();
  failed.failure->first = Rank{0};
  CHECK(notice_of(failed)->ranks == std::vector{3});  // of a hang the one that is missing
  failed.failure->kind = FailureKind::failed;
  report::RunSummary run;
  run.attempts = {failed};
  CHECK(notice_of_end(run).ranks == std::vector{0});
  run.attempts.front().failure->kind = FailureKind::stalled;  // rank 0's watchdog has given up
  CHECK(notice_of_end(run).ranks == std::vector{3});
}

TEST_CASE("a standstill and its end are told in words, with who is behind and where",
          "[notifier]") {
  report::record::Stall stall{.text = "rank 1 is behind", .phase = ""};
  stall.ranks = {1};
  stall.places = {"train.py:12 in load"};
  const Notice stalled = notice_of(stall, 1);
  CHECK(stalled.text == "training stands still: rank 1 is behind");
  CHECK(stalled.ranks == stall.ranks);
  CHECK(stalled.places == stall.places);
  const Notice moves = notice_of(report::record::Stall{"12min", "over"}, 2);
  CHECK(moves.event == "moves");
  CHECK(moves.text == "training goes on, after 12min");
  CHECK(moves.attempt == 2);
}

TEST_CASE("a notice keeps no secret", "[notifier]") {
  redact::Redactor redactor;
  redactor.learn_value("hunter2hunter2");
  report::RunSummary run;
  run.command = {"x", "hunter2hunter2"};
  const std::string line =
      in_json({.event = "failed", .text = "no login with hunter2hunter2"}, run, redactor);
  CHECK(line.find("hunter2") == std::string::npos);
  CHECK(nlohmann::json::accept(line));
}
