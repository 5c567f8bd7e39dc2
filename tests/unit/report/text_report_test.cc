#include "catch.h"
#include "recorded_runs.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/report/report.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

RunRecord run_with(AttemptHistory attempt) {
  RunRecord run;
  run.id = "r1";
  run.attempts.push_back(std::move(attempt));
  return run;
}

std::string text_of(const RunRecord& run) {
  return laid_out(text_report(run), {});
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

}  // namespace

TEST_CASE("a run that goes on says so, with what it waits for", "[text_report]") {
  RunRecord run = parse_run(killed_run());
  run.state = RunRecord::State::running;
  const std::string text = text_of(run);
  CHECK(contains(text, ", still running"));
  CHECK(contains(text, "attempt 1  basic          is running  (group 1/2 · waiting for rank 1)"));
  CHECK_FALSE(contains(text, "exit status"));
}

TEST_CASE("a command with a blank in a word can be copied from the report", "[text_report]") {
  RunRecord run = run_with({});
  run.summary.command = {"torchrun", "my train.py"};
  CHECK(contains(text_of(run), "command   torchrun 'my train.py'\n"));
}

TEST_CASE("a run that trains waits for nobody", "[text_report]") {
  AttemptHistory attempt;
  attempt.training = 4s;
  attempt.waiting = "waiting for rank 1";
  RunRecord run = run_with(attempt);
  run.state = RunRecord::State::running;
  CHECK(contains(text_of(run), "is running, training"));
  CHECK_FALSE(contains(text_of(run), "waiting for rank 1"));
}

TEST_CASE("the last standstill of an attempt that was interrupted is told, on the page too",
          "[text_report]") {
  const std::string stall =
      R"({"t":9,"e":"stall","attempt":1,"text":"no output for 5s; rank 1 is behind"})"
      "\n";
  const std::string words = "training stood still after 8s: no output for 5s; rank 1 is behind";
  RunFiles files = killed_run();
  files.files[0].text = kFirstAttempt + stall;
  CHECK(contains(text_of(parse_run(files)), "  " + words + "\n"));
  CHECK(contains(html_report(parse_run(files)), "<p>" + words + "</p>"));
  files.files[0].text = kFirstAttempt + stall + stall;
  CHECK(contains(text_of(parse_run(files)), words + " (and 1 time before)\n"));
  const std::string works = R"({"t":9,"e":"stall","attempt":1,"text":"…","phase":"works"})"
                            "\n";
  files.files[0].text = kFirstAttempt + stall + works;
  CHECK(contains(text_of(parse_run(files)), "  " + words + "\n"));
  files.files[0].text = kFirstAttempt + stall + kVerdict;  // which tells it itself
  CHECK_FALSE(contains(text_of(parse_run(files)), "stood still"));
}

TEST_CASE("attempts before the cut are told, without closing words", "[text_report]") {
  RunFiles files = killed_run();
  files.files[0].text = std::string(kFirstAttempt) + kVerdict +
                        R"({"t":23,"e":"attempt","attempt":2,"profile":"no-p2p"})";
  const std::string text = text_of(parse_run(files));
  CHECK(contains(text, "what happened so far\n  attempt 1  basic"));
  CHECK(contains(text, "Rank 0 waited for rank 1."));
  CHECK(contains(text, "attempt 2  no-p2p         was not ended"));
  CHECK_FALSE(contains(text, "logs and evidence"));
}

TEST_CASE("a stage that no rank reached has no column", "[text_report]") {
  const std::string text = text_of(parse_run(healed_run()));
  const std::size_t head = text.find("reached after");
  const std::string columns = text.substr(head, text.find('\n', head) - head);
  CHECK(contains(columns, "imported"));
  CHECK(contains(columns, "group"));
  CHECK_FALSE(contains(columns, "communicator"));
}

TEST_CASE("of many stacks and logs the first are shown and the rest is counted", "[text_report]") {
  AttemptHistory attempt;
  for (int i = 0; i < 7; ++i) {
    const std::string rank = "rank-" + std::to_string(i);
    attempt.stacks.push_back({rank, "in step " + rank, 20, 0});
    attempt.logs.push_back({rank + ".err", "said " + rank, 20, 0});
  }
  const std::string text = text_of(run_with(attempt));
  CHECK(count(text, "  stack of rank ") == 4);
  CHECK(contains(text, "  and 3 stacks more\n"));
  CHECK(count(text, "the last lines of ") == 4);
  CHECK(contains(text, "  and 3 logs more\n"));
}

TEST_CASE("equal answers of ranks are one line", "[text_report]") {
  AttemptHistory attempt;
  attempt.evidence.push_back(
      {"collectives", "rank 0: no collective yet\nrank 1: waits\nrank 2: no collective yet\n", 9,
       0});
  CHECK(contains(text_of(run_with(attempt)),
                 "    | ranks 0 2: no collective yet\n    | rank 1: waits\n"));
}

TEST_CASE("of a hang the log ends where torchrun tells of our stopping it", "[text_report]") {
  AttemptHistory attempt;
  attempt.ended = true;
  attempt.told.failure = Failure{.kind = FailureKind::hung};
  attempt.logs.push_back(
      {"launcher.out", "said\nReceived 15 death signal, shutting down workers\nTraceback\n", 9, 0});
  CHECK(contains(text_of(run_with(attempt)), "    | said\n"));
  CHECK_FALSE(contains(text_of(run_with(attempt)), "Traceback"));
  attempt.logs.push_back({"rank-0.err", "Received 15 death signal, shutting down workers", 9, 0});
  CHECK_FALSE(contains(text_of(run_with(attempt)), "rank-0.err"));
  attempt.told.failure->kind = FailureKind::failed;
  CHECK(contains(text_of(run_with(attempt)), "    | Traceback\n"));
}

TEST_CASE("an attempt that completed shows none of its logs", "[text_report]") {
  AttemptHistory attempt;
  attempt.ended = true;
  attempt.logs.push_back({"rank-0.err", "said", 4, 0});
  CHECK_FALSE(contains(text_of(run_with(attempt)), "rank-0.err"));
  attempt.told.failure = Failure{.kind = FailureKind::failed};
  CHECK(contains(text_of(run_with(attempt)), "rank-0.err"));
}

TEST_CASE("a terminal shows the missing rank in colour, a file gets none", "[text_report]") {
  const RunRecord run = parse_run(healed_run());
  CHECK(contains(text_report(run), "\x1b[1;31m  missing\x1b[0m"));
  CHECK(contains(text_report(run), "\x1b[1;31m  stack of rank 1\x1b[0m"));
  CHECK_FALSE(contains(text_of(run), "\x1b"));
}

TEST_CASE("findings of the preflight stand above the attempts, with their remedy",
          "[text_report]") {
  RunRecord run = parse_run(healed_run());
  run.findings = {{"shm-small", Severity::risk, "/dev/shm has 64 MiB", "enlarge it"}};
  const std::string text = text_of(run);
  CHECK(contains(text, "  shm-small (risk): /dev/shm has 64 MiB\n      help: enlarge it\n"));
  CHECK(text.find("shm-small") < text.find("what happened"));
}

TEST_CASE("a run of which nothing is recorded has a report all the same", "[text_report]") {
  CHECK(contains(text_of(RunRecord{}), "started   unknown"));
}
