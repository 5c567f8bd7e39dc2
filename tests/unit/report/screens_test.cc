#include "catch.h"
#include "launcher/report/excerpts.h"
#include "recorded_runs.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/status.h"
#include "safelaunch/report/summary.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

AttemptSummary attempt_that(std::optional<FailureKind> kind, Duration took) {
  AttemptSummary attempt;
  attempt.profile = "basic";
  attempt.took = took;
  if (kind) attempt.failure = Failure{.kind = *kind};
  return attempt;
}

AttemptSummary hung_attempt_of_screen() {
  AttemptSummary attempt = attempt_that(FailureKind::hung, 32s);
  attempt.stages = "group 1/2";
  attempt.next = "no-p2p: next in the chain";
  Failure& failure = *attempt.failure;
  failure.cause = "rank-missing";
  failure.title = "a rank never came";
  failure.certainty = Certainty::confirmed;
  failure.explanation = "Rank 0 waited for rank 1.";
  failure.lines = {"Traceback", "ValueError: x"};
  failure.remedy = "Look at it.";
  return attempt;
}

RunSummary healed_screen() {
  RunSummary summary;
  summary.run_id = "r1";
  summary.command = {"torchrun", "train.py"};
  AttemptSummary worked = attempt_that(std::nullopt, 7s);
  worked.number = 2;
  worked.profile = "no-p2p";
  worked.stages = "collective 2/2";
  summary.attempts = {hung_attempt_of_screen(), worked};
  summary.cost = "medium";
  summary.directory = "/runs/r1";
  return summary;
}

}  // namespace

// ---- the closing screen

TEST_CASE("what is not known has no line on the closing screen", "[summary]") {
  RunSummary summary;
  summary.attempts = {attempt_that(FailureKind::failed, 3s)};
  summary.exit_code = 1;
  CHECK(laid_out(closing_screen(summary), {}) ==
        "failed: after 3s\n  attempt 1  basic           failed after 3s\n  exit status 1");
  CHECK(closing_screen(RunSummary{}).empty());
}

TEST_CASE("the closing screen is inked by what it tells", "[summary]") {
  const std::string inked = closing_screen(healed_screen());
  CHECK(inked.find("\x1b[1;31mhung, stopped after 32s\x1b[0m") != std::string::npos);
  CHECK(inked.find("\x1b[32mcompleted in 7s\x1b[0m") != std::string::npos);
  CHECK(inked.find("\x1b[32mworked with no-p2p\x1b[0m") != std::string::npos);
  CHECK(inked.find("\x1b[36mhelp:\x1b[0m Look at it.") != std::string::npos);
}

TEST_CASE("the end of an attempt in words, for each kind", "[summary]") {
  struct {
    std::optional<FailureKind> kind;
    const char* words;
  } const cases[] = {
      {std::nullopt, "completed in 5s"},
      {FailureKind::failed, "failed after 5s"},
      {FailureKind::rank_died, "failed after 5s"},
      {FailureKind::raised, "failed after 5s"},
      {FailureKind::world_size_mismatch, "failed after 5s"},
      {FailureKind::duplicate_rank, "failed after 5s"},
      {FailureKind::hung, "hung, stopped after 5s"},
      {FailureKind::stood_still, "hung, stopped after 5s"},
      {FailureKind::driver_silent, "hung, stopped after 5s"},
      {FailureKind::stalled, "stalled in training, stopped after 5s"},
      {FailureKind::interrupted, "interrupted after 5s"},
      {FailureKind::given_up, "given up after 5s"},
  };
  for (const auto& each : cases) CHECK(end_in_words(attempt_that(each.kind, 5s)) == each.words);
}

TEST_CASE("a run is worth telling unless it worked at once or speaks for itself", "[summary]") {
  const auto worth = [](std::vector<AttemptSummary> attempts) {
    RunSummary summary;
    summary.attempts = std::move(attempts);
    return worth_telling(summary);
  };
  CHECK_FALSE(worth({}));
  CHECK_FALSE(worth({attempt_that(std::nullopt, 1s)}));
  CHECK_FALSE(worth({attempt_that(FailureKind::interrupted, 1s)}));
  CHECK(worth({attempt_that(FailureKind::failed, 1s)}));
  AttemptSummary told = attempt_that(FailureKind::failed, 1s);
  told.told_by_itself = true;
  CHECK_FALSE(worth({told}));
  CHECK(worth({told, told}));
}

// ---- outcome.json

TEST_CASE("outcome.json of a healed run, whole", "[summary]") {
  RunSummary summary = healed_screen();
  summary.attempts[0].failure->lines = {"Traceback"};
  CHECK(outcome_json(summary) == R"({
  "run": "r1",
  "command": [
    "torchrun",
    "train.py"
  ],
  "exit_status": 0,
  "worked_with": "no-p2p",
  "cost": "medium",
  "attempts": [
    {
      "attempt": 1,
      "profile": "basic",
      "end": "hung",
      "seconds": 32.0,
      "stages": "group 1/2",
      "cause": {
        "id": "rank-missing",
        "title": "a rank never came",
        "certainty": "confirmed",
        "explanation": "Rank 0 waited for rank 1.",
        "lines": [
          "Traceback"
        ],
        "remedy": "Look at it."
      },
      "next": "no-p2p: next in the chain"
    },
    {
      "attempt": 2,
      "profile": "no-p2p",
      "end": "completed",
      "seconds": 7.0,
      "stages": "collective 2/2"
    }
  ],
  "directory": "/runs/r1"
}
)");
}

TEST_CASE("an outcome without attempts has worked with nothing", "[summary]") {
  RunSummary summary;
  summary.run_id = "r1";
  summary.exit_code = 64;
  CHECK(outcome_json(summary) == R"({
  "run": "r1",
  "command": [],
  "exit_status": 64,
  "worked_with": null,
  "attempts": []
}
)");
}

TEST_CASE("an outcome that is cut off anywhere is none", "[summary]") {
  const std::string text = outcome_json(healed_screen());
  const std::size_t end = text.rfind('}');
  for (std::size_t size = 0; size <= end; ++size) CHECK_FALSE(read_outcome(text.substr(0, size)));
  CHECK(read_outcome(text));
}

TEST_CASE("an outcome of another version is read as far as it is known", "[summary]") {
  const RunSummary outcome =
      read_outcome(R"({"attempts":[{"attempt":"x","end":"melted","seconds":-1,"cause":[],"new":1},
                       7, null, {"end":"completed","cause":{"id":"x"}}, {}],
                       "run":7,"command":"x","exit_status":1.5})")
          .value();
  REQUIRE(outcome.attempts.size() == 3);
  CHECK(outcome.run_id.empty());
  CHECK(outcome.command.empty());
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.attempts[0].number == 0);
  CHECK(outcome.attempts[0].took == 0s);
  CHECK(outcome.attempts[0].failure->kind == FailureKind::failed);
  CHECK(outcome.attempts[0].failure->cause.empty());
  CHECK_FALSE(outcome.attempts[1].failure);
  CHECK(outcome.attempts[2].failure);
}

TEST_CASE("what is no outcome is none", "[summary]") {
  for (const char* text : {"", "null", "[]", "{}", R"({"attempts":{}})", R"({"attempts":null})",
                           R"([{"attempts":[]}])"})
    CHECK_FALSE(read_outcome(text));
  CHECK(read_outcome(R"({"attempts":[]})"));
}

TEST_CASE("a summary loses its secrets, and those that its lines teach", "[summary]") {
  RunSummary summary = healed_screen();
  Failure& failure = *summary.attempts[0].failure;
  failure.explanation = "Rank 1 failed with api_key=abcd1234efgh.";
  failure.lines = {"sent abcd1234efgh", "https://bob:pw@host/x"};
  failure.remedy = "do not send abcd1234efgh";
  summary.cost = summary.stopped_because = "abcd1234efgh";
  redact::Redactor redactor;
  const RunSummary clean = redacted(summary, redactor);
  CHECK(clean.attempts[0].failure->explanation == "Rank 1 failed with api_key=[redacted].");
  CHECK(clean.attempts[0].failure->lines ==
        std::vector<std::string>{"sent [redacted]", "https://bob:[redacted]@host/x"});
  CHECK(clean.attempts[0].failure->remedy == "do not send [redacted]");
  CHECK(clean.cost == "[redacted]");
  CHECK(clean.stopped_because == "[redacted]");
  CHECK(clean.attempts[1].failure == std::nullopt);
}

// ---- the report as text

TEST_CASE("the report of a healed run as text, whole", "[text_report]") {
  CHECK(laid_out(text_report(parse_run(healed_run())), {}) ==
        "run 20261121-150653-b939a3\n"
        "command   torchrun --nproc-per-node 2 train.py\n"
        "in        /home/ann/model\n"
        "started   2026-11-21T15:06:53.722Z, 30s\n"
        "\n"
        "worked with no-p2p; cost: medium\n"
        "  attempt 1  basic           hung, stopped after 21s (group 1/2): rank-missing\n"
        "      Rank 0 waited for rank 1.\n"
        "      | Traceback\n"
        "      cause: rank-missing (confirmed)\n"
        "      help: Look at it.\n"
        "  attempt 2  no-p2p          completed in 7s (collective 2/2)\n"
        "  files: /runs/20261121-150653-b939a3\n"
        "\n"
        "attempt 1  basic\n"
        "  verdict: rank 1 is missing\n"
        "  reached after  imported  group\n"
        "  rank 0               3s     4s  waited\n"
        "  rank 1               2s      -  missing\n"
        "  stack of rank 1\n"
        "    thread MainThread\n"
        "      train.py:50 sleep\n"
        "  stack of rank 0\n"
        "    thread MainThread\n"
        "      train.py:95 all_reduce\n"
        "  the last lines of rank-1.err (12 bytes)\n"
        "    | from rank 1\n"
        "  the last lines of launcher.out (18 bytes)\n"
        "    | from the launcher\n"
        "\n"
        "attempt 2  no-p2p\n"
        "  reached after  collective\n"
        "  rank 0                 2s\n"
        "  its environment differs from yours:\n"
        "    + NCCL_P2P_DISABLE=1  # profile no-p2p\n");
}

TEST_CASE("the report of a killed run as text, whole", "[text_report]") {
  CHECK(laid_out(text_report(parse_run(killed_run())), {}) ==
        "run 20261121-150653-b939a3\n"
        "command   torchrun --nproc-per-node 2 train.py\n"
        "in        /home/ann/model\n"
        "started   2026-11-21T15:06:53.722Z, 5s, cut off: safelaunch ended without an outcome\n"
        "          1 lines of events.jsonl cannot be read\n"
        "\n"
        "  attempt 1  basic          was not ended  (group 1/2 · waiting for rank 1)\n"
        "\n"
        "attempt 1  basic\n"
        "  reached after  imported  group\n"
        "  rank 0               3s     4s\n"
        "  rank 1               2s      -\n");
}

TEST_CASE("attempts before a cut are told with their explanation, where there is one",
          "[text_report]") {
  RunRecord run;
  run.state = RunRecord::State::cut_off;
  run.summary.attempts = {hung_attempt_of_screen(), attempt_that(FailureKind::failed, 3s),
                          attempt_that(std::nullopt, 4s)};
  const std::string text = laid_out(text_report(run), {});
  CHECK(contains(text,
                 "what happened so far\n"
                 "  attempt 1  basic          hung, stopped after 32s: Rank 0 waited for "
                 "rank 1.\n"
                 "  attempt 1  basic          failed after 3s\n"
                 "  attempt 1  basic          completed in 4s\n"));
}

TEST_CASE("the report of 1,024 ranks stays within three screens", "[text_report]") {
  RunRecord run;
  AttemptHistory& attempt = run.attempts.emplace_back();
  attempt.until = 60s;
  for (int i = 0; i < 1'024; ++i) {
    RankHistory& rank = attempt.ranks[Rank{i}];
    rank.ended = Duration(i);
    rank.status = "exit status " + std::to_string(i % 256);
    const std::string name = "rank-" + std::to_string(i);
    attempt.stacks.push_back({name, "stack " + std::to_string(i), 10, 0});
    attempt.logs.push_back({name + ".err", std::string(1'000, '\n') + "x\n", 1'002, 0});
  }
  const std::string text = laid_out(text_report(run), {});
  CHECK(std::count(text.begin(), text.end(), '\n') < 150);
  CHECK(contains(text, " ranks more\n"));
  CHECK(contains(text, "  and 1020 stacks more\n"));
  CHECK(contains(text, "  and 1020 logs more\n"));
}
