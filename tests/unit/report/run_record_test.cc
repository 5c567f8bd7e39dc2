#include "safelaunch/report/run_record.h"

#include <algorithm>

#include "catch.h"
#include "launcher/report/excerpts.h"
#include "launcher/report/timeline.h"
#include "recorded_runs.h"

using namespace safelaunch;

using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

TEST_CASE("a healed run is read with its attempts, times and files", "[run_record]") {
  const report::RunRecord run = report::parse_run(healed_run());
  CHECK(run.id == "20261121-150653-b939a3");
  CHECK(run.process == ProcessId{5565, 1299226});
  CHECK(run.state == report::RunRecord::State::ended);
  CHECK(run.took == 30s);
  REQUIRE(run.attempts.size() == 2);
  const report::AttemptHistory& first = run.attempts[0];
  CHECK(first.told.failure->kind == FailureKind::hung);
  CHECK(first.told.failure->remedy == "Look at it.");
  CHECK(first.began == 1s);
  CHECK(first.ranks.at(Rank{0}).reached[static_cast<std::size_t>(Stage::group)] == 5s);
  CHECK(ranks_of(first.verdict->failure.missing) == std::vector{Rank{1}});
  CHECK(first.stacks.size() == 2);
  CHECK(run.attempts[1].environment.at(0).change == "+ NCCL_P2P_DISABLE=1");
  CHECK(run.attempts[1].environment.at(0).why == "profile no-p2p");
  CHECK(run.attempts[1].training == 25s);
}

TEST_CASE("outcome.json is read back as it was written", "[summary]") {
  const report::RunSummary told = *report::read_outcome(kOutcome);
  CHECK(report::outcome_json(*report::read_outcome(report::outcome_json(told))) ==
        report::outcome_json(told));
  CHECK_FALSE(report::read_outcome("{"));
  CHECK_FALSE(report::read_outcome(R"({"attempts": "none"})"));
}

TEST_CASE("a run whose safelaunch was killed is read as far as it came", "[run_record]") {
  const report::RunRecord run = report::parse_run(killed_run());
  CHECK(run.state == report::RunRecord::State::cut_off);
  CHECK(run.unreadable == 1);
  CHECK(run.summary.attempts.empty());
  REQUIRE(run.attempts.size() == 1);
  CHECK_FALSE(run.attempts[0].ended);
  CHECK(run.attempts[0].waiting == "group 1/2 · waiting for rank 1");
}

TEST_CASE("without an outcome the attempts that ended are told from the events", "[run_record]") {
  report::RunFiles files = killed_run();
  files.files[0].text = std::string(kFirstAttempt) + kVerdict +
                        R"({"t":23,"e":"attempt","attempt":2,"profile":"no-p2p"})";
  const report::RunRecord run = report::parse_run(files);
  REQUIRE(run.summary.attempts.size() == 1);
  CHECK(run.summary.attempts[0].failure->kind == FailureKind::hung);
  CHECK(run.summary.attempts[0].took == 21s);
  CHECK(run.attempts[1].told.profile == "no-p2p");
}

TEST_CASE("nothing is too broken to be read", "[run_record]") {
  CHECK(report::parse_run({}).attempts.empty());
  for (const char* line :
       {"\x00\xff", "[[[[", "7", "{}", R"({"e":7})", R"({"e":"attempt","attempt":-1})",
        R"({"e":"attempt","attempt":2000000000})",
        R"({"e":"stage","attempt":1,"rank":99999999999})",
        R"({"e":"stage","attempt":1,"rank":"x","stage":"y"})", R"({"t":1e999,"e":"end"})",
        R"({"t":-5,"e":"verdict","attempt":1,"missing":"all","waiting":[null,"1"]})"}) {
    INFO(line);
    report::RunFiles files;
    add(files, "events.jsonl", line);
    add(files, "job.json", line);
    add(files, "outcome.json", line);
    CHECK_NOTHROW(report::parse_run(files));
  }
  report::RunFiles deep;
  add(deep, "events.jsonl", std::string(1'000'000, '['));
  CHECK(report::parse_run(deep).unreadable == 1);
}

TEST_CASE("what NCCL chose, and what its RAS answered, is told", "[run_record]") {
  report::RunFiles files;
  add(files, "attempt-1-basic/evidence/ras.txt", "1 communicator\n");
  add(files, "events.jsonl",
      R"({"t":1,"e":"nccl","attempt":1,"version":"2.28.9","network":["Socket"],"transport":["P2P","NET"],"unread":[],"standing":"rank 1 stands in bootstrap"})");
  const report::AttemptHistory attempt = report::parse_run(files).attempts.at(0);
  CHECK(attempt.nccl == "2.28.9 · network Socket · transport P2P NET · rank 1 stands in bootstrap");
  CHECK(attempt.evidence.at(0).name == "ras.txt");
  CHECK(attempt.stacks.empty());
}

TEST_CASE("of a long record the first and the last lines are kept", "[run_record]") {
  report::RunFiles files;
  std::string text;
  for (int i = 0; i < 1'000; ++i)
    text += R"({"t":1,"e":"status","attempt":1,"text":")" + std::to_string(i) + "\"}\n";
  add(files, "events.jsonl", text);
  const report::RunRecord run = report::parse_run(files);
  CHECK(run.lines.size() + run.lines_left_out == 1'000);
  CHECK(run.lines.front().text == "0");
  CHECK(run.lines.back().text == "999");
}

TEST_CASE("findings of the preflight are read from the record", "[run_record]") {
  report::RunFiles files;
  add(files, "events.jsonl",
      R"({"t":0,"e":"finding","id":"shm-small","severity":"risk","evidence":"64 MB","remedy":"more"})");
  const report::RunRecord run = report::parse_run(files);
  REQUIRE(run.findings.size() == 1);
  CHECK(run.findings[0] == Finding{"shm-small", Severity::risk, "64 MB", "more"});
}

TEST_CASE("the timeline shows who waited and who was missing", "[timeline]") {
  const report::RunRecord run = report::parse_run(healed_run());
  const report::Timeline timeline = report::timeline_of(run.attempts[0], 10);
  REQUIRE(timeline.rows.size() == 2);
  CHECK(timeline.verdict == 20s);
  using Kind = report::TimelineSpan::Kind;
  CHECK(timeline.rows[0].spans ==
        std::vector<report::TimelineSpan>{{Kind::starting, Stage::spawned, 0s, 3s},
                                          {Kind::reached, Stage::imported, 3s, 4s},
                                          {Kind::waiting, Stage::group, 4s, 20s},
                                          {Kind::stopped, Stage::group, 20s, 21s}});
  CHECK(timeline.rows[0].note == "waited");
  CHECK(timeline.rows[1].spans.at(1) ==
        report::TimelineSpan{Kind::missing, Stage::imported, 2s, 20s});
  CHECK(timeline.rows[1].suspect);
}

TEST_CASE("a rank that never came is in the timeline too", "[timeline]") {
  report::RunFiles files;
  add(files, "events.jsonl",
      R"({"t":0,"e":"attempt","attempt":1,"profile":"basic"}
{"t":9,"e":"verdict","attempt":1,"kind":"hung","stage":"group","text":"","waiting":[0],"missing":[1]})");
  const report::Timeline timeline =
      report::timeline_of(report::parse_run(files).attempts.at(0), 10);
  REQUIRE(timeline.rows.size() == 2);
  CHECK(timeline.rows[1].note == "missing");
}

TEST_CASE("a thousand ranks that behaved alike are one row, the missing ones first", "[timeline]") {
  report::AttemptHistory attempt;
  attempt.until = 60s;
  attempt.verdict = report::RecordedVerdict{.at = 50s, .text = "", .failure = {}};
  attempt.verdict->failure.missing = {{.rank = Rank{3}}, {.rank = Rank{517}}};
  for (int i = 0; i < 1'000; ++i) {
    attempt.ranks[Rank{i}].reached[1] = Duration(i);
    if (i != 3 && i != 517) attempt.verdict->failure.waiting.push_back(Rank{i});
  }
  const report::Timeline timeline = report::timeline_of(attempt, 64);
  REQUIRE(timeline.rows.size() == 2);
  CHECK(timeline.rows[0].ranks == std::vector{Rank{3}, Rank{517}});
  CHECK(timeline.rows[1].ranks.size() == 998);
  CHECK(timeline.rows[1].reached[1] == 999ms);
}

TEST_CASE("rows that are too many are counted", "[timeline]") {
  report::AttemptHistory attempt;
  attempt.until = 9s;
  for (int i = 0; i < 100; ++i) {
    attempt.ranks[Rank{i}].ended = 1s;
    attempt.ranks[Rank{i}].status = "exit status " + std::to_string(i);
  }
  const report::Timeline timeline = report::timeline_of(attempt, 10);
  CHECK(timeline.rows.size() == 10);
  CHECK(timeline.ranks_left_out == 90);
}

TEST_CASE("equal stacks are told once, the missing rank's first", "[excerpts]") {
  report::RunFiles files = healed_run();
  files.files[0].text =
      "thread MainThread\n  a\nthread thread 140577263916736 (innermost last)\n  b\n";
  add(files, "attempt-1-basic/evidence/rank-2.stack",
      "thread MainThread\n  a\nthread thread 139958673200832 (innermost last)\n  b\n");
  const report::RunRecord run = report::parse_run(files);
  const auto stacks = report::shared_stacks(run.attempts[0]);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].ranks == std::vector{Rank{1}});
  CHECK(stacks[0].suspect);
  CHECK(stacks[1].ranks == std::vector{Rank{0}, Rank{2}});
}

TEST_CASE("the logs of the missing rank come first", "[excerpts]") {
  const report::RunRecord run = report::parse_run(healed_run());
  const auto logs = report::logs_by_interest(run.attempts[0]);
  REQUIRE(logs.size() == 2);
  CHECK(logs[0]->name == "rank-1.err");
}

TEST_CASE("the last lines of a text", "[excerpts]") {
  CHECK(report::last_lines("a\nb\nc\n", 2) == "b\nc");
  CHECK(report::last_lines("a\nb", 5) == "a\nb");
  CHECK(report::last_lines("", 5).empty());
  CHECK(report::last_lines("\n\n", 5).empty());
}

TEST_CASE("the figures of ranks and GPUs are read, and hide no line of the record",
          "[run_record]") {
  report::RunFiles files = healed_run();
  files.files[5].text +=
      R"({"t":26,"e":"usage","attempt":2,"ranks":[0,1],"cpu":[98,2],"memory":[512,500],"children":[0,64]}
{"t":27,"e":"gpus","attempt":2,"gpu":[0],"used":[1500],"size":[81920],"busy":[97],"ranks":[1],"held":[1000]}
)";
  const report::RunRecord run = report::parse_run(files);
  REQUIRE(run.attempts[1].usage.size() == 1);
  CHECK(run.attempts[1].usage[0].at == 26s);
  CHECK(run.attempts[1].usage[0].figures.memory == std::vector{512, 500});
  REQUIRE(run.attempts[1].gpus.size() == 1);
  CHECK(run.attempts[1].gpus[0].figures.busy == std::vector{97});
  CHECK(std::ranges::none_of(
      run.lines, [](const auto& line) { return line.what == "usage" || line.what == "gpus"; }));
}

TEST_CASE("figures that belong to no rank are left out", "[run_record]") {
  report::RunFiles files = healed_run();
  files.files[5].text +=
      R"({"t":26,"e":"usage","attempt":2,"ranks":[0,1],"cpu":[98],"memory":[512,500],"children":[0,64]}
{"t":27,"e":"gpus","attempt":2,"gpu":[0],"used":[],"size":[81920],"busy":[97],"ranks":[1],"held":[1000]}
)";
  const report::RunRecord run = report::parse_run(files);
  CHECK(run.attempts[1].usage.empty());
  CHECK(run.attempts[1].gpus.empty());
}

TEST_CASE("the collectives that a rank has finished give the rate after the start",
          "[run_record]") {
  report::RunFiles files = healed_run();
  files.files[5].text += R"({"t":29,"e":"counted","attempt":2,"rank":0,"collectives":400})"
                         "\n";
  const report::RunRecord run = report::parse_run(files);
  CHECK(report::collectives_a_second(run.attempts[1]) == 100.0);
  CHECK_FALSE(report::collectives_a_second(run.attempts[0]));
}
