#include "catch.h"
#include "recorded_runs.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/status.h"

/// Records as other versions of safelaunch wrote them, or as somebody changed them.
using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

RunRecord run_of(const std::string& events) {
  RunFiles files;
  files.directory = "/runs/r1";
  add(files, "events.jsonl", events);
  return parse_run(files);
}

}  // namespace

TEST_CASE("an event of another version is a line of the list and changes nothing else",
          "[run_record]") {
  const RunRecord run = run_of(R"({"t":2,"e":"heartbeat","attempt":1,"text":"still there"})");
  REQUIRE(run.lines.size() == 1);
  CHECK(run.lines[0].what == "heartbeat");
  CHECK(run.lines[0].text == "still there");
  CHECK(run.unreadable == 0);
  CHECK_FALSE(run.attempts.at(0).ended);
}

TEST_CASE("an event without the fields of today is read with those that it has", "[run_record]") {
  const RunRecord run = run_of(R"({"t":1,"e":"attempt","attempt":1,"profile":"basic"}
{"t":9,"e":"verdict","attempt":1,"text":"rank 1 is missing"}
{"t":9,"e":"cause","attempt":1,"id":"rank-missing"})");
  const AttemptHistory& attempt = run.attempts.at(0);
  CHECK(attempt.verdict->text == "rank 1 is missing");
  CHECK(attempt.verdict->failure.missing.empty());
  CHECK(attempt.told.failure->cause == "rank-missing");
  CHECK(attempt.told.failure->certainty == Certainty::guess);
  CHECK(attempt.ended);
}

TEST_CASE("a stage that this version does not know is no rank's progress", "[run_record]") {
  const RunRecord run = run_of(R"({"t":1,"e":"stage","attempt":1,"rank":0,"stage":"warmup"})");
  CHECK(run.attempts.at(0).ranks.empty());
}

TEST_CASE("attempts and ranks of absurd numbers are passed over", "[run_record]") {
  const RunRecord run = run_of(R"({"t":1,"e":"attempt","attempt":2000000,"profile":"basic"}
{"t":1,"e":"stage","attempt":1,"rank":2000000000,"stage":"group"}
{"t":1,"e":"exit","attempt":1,"rank":-1,"status":"exit status 1"})");
  CHECK(run.attempts.size() == 1);
  CHECK(run.attempts[0].ranks.empty());
}

TEST_CASE("the end of a rank after a verdict or a signal is safelaunch's doing", "[run_record]") {
  for (const char* before :
       {R"("e":"verdict","kind":"hung")", R"("e":"signal","signal":"SIGINT")"}) {
    const RunRecord run =
        run_of(std::string(R"({"t":1,"attempt":1,)") + before + "}\n" +
               R"({"t":2,"e":"exit","attempt":1,"rank":0,"status":"exit status 1"})");
    CHECK(run.attempts.at(0).ranks.at(Rank{0}).told_to_end);
    CHECK(suspects(run.attempts[0]).empty());
  }
}

TEST_CASE("an outcome counts more than the events", "[run_record]") {
  RunFiles files = healed_run();
  for (RecordedFile& file : files.files)
    if (file.name == "outcome.json")
      file.text = R"({"attempts": [{"attempt": 1, "profile": "basic", "end": "melted"}]})";
  const RunRecord run = parse_run(files);
  REQUIRE(run.summary.attempts.size() == 1);
  CHECK(run.summary.attempts[0].failure->kind == FailureKind::failed);
  CHECK(run.summary.command.size() == 4);
  CHECK(run.attempts.size() == 2);
}

TEST_CASE("a value of several lines is one change of the environment", "[run_record]") {
  RunFiles files;
  add(files, "attempt-1-basic/env.diff", "+ A=1\n2  # profile basic\n- B  # unset\n+ C=3");
  const RunRecord run = parse_run(files);
  const auto& changes = run.attempts.at(0).environment;
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].change == "+ A=1\n2");
  CHECK(changes[0].why == "profile basic");
  CHECK(changes[1].change == "- B");
  CHECK(changes[2].why.empty());
  CHECK(run.attempts[0].told.profile == "basic");
}

TEST_CASE("logs are in the order of their ranks' numbers", "[run_record]") {
  RunFiles files;
  for (const char* name : {"rank-10.err", "rank-2.err", "launcher.out"})
    add(files, std::string("attempt-1-basic/") + name, "x");
  const RunRecord run = parse_run(files);
  std::vector<std::string> names;
  for (const RecordedFile& log : run.attempts.at(0).logs) names.push_back(log.name);
  CHECK(names == std::vector<std::string>{"launcher.out", "rank-2.err", "rank-10.err"});
}

TEST_CASE("a job.json of before the boot and the start were in it has a status", "[status]") {
  const ScratchFolder run;
  run.write("job.json", R"({"run": "r1", "pid": 71, "command": ["torchrun"]})");
  const auto status = read_status(run.path);
  REQUIRE(status);
  CHECK(status->process == ProcessId{71, 0});
  CHECK(status->boot_id.empty());
}
