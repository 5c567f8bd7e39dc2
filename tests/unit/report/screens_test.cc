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

// ---- excerpts

TEST_CASE("the last lines are whole lines, whatever ends the text", "[excerpts]") {
  struct {
    std::string_view text;
    std::size_t count;
    std::string_view last;
  } const cases[] = {
      {"a\nb\nc", 1, "c"},
      {"a\nb\nc\n", 1, "c"},
      {"a\nb\nc\n\n\n", 2, "b\nc"},
      {"a\n\nc\n", 2, "\nc"},
      {"a\nb\nc", 3, "a\nb\nc"},
      {"a\nb\nc", 100, "a\nb\nc"},
      {"a\nb\nc", 0, ""},
      {"abc", 1, "abc"},
      {"\na", 1, "a"},
      {"\na", 2, "\na"},
      {"", 0, ""},
  };
  for (const auto& each : cases) CHECK(last_lines(each.text, each.count) == each.last);
}

TEST_CASE("sizes are told in the unit that fits", "[excerpts]") {
  struct {
    std::uintmax_t size;
    std::uintmax_t left_out;
    const char* words;
  } const cases[] = {
      {0, 0, "0 bytes"},
      {999, 0, "999 bytes"},
      {1'024, 0, "1 KiB"},
      {999'400, 0, "976 KiB"},
      {1'000'000, 0, "977 KiB"},
      {2'500'000'000, 0, "2.3 GiB"},
      {7'000'000'000'000, 0, "6519.3 GiB"},
      {9'000'000'000'000'000, 0, "8381903.2 GiB"},
      {10'000'000, 9'936'000, "the last 62 KiB of 10 MiB"},
      {5'000, 5'000, "the last 0 bytes of 5 KiB"},
  };
  for (const auto& each : cases)
    CHECK(extent_in_words({"x", "", each.size, each.left_out}) == each.words);
}

TEST_CASE("stacks that differ in their threads' numbers alone are equal, however many they have",
          "[excerpts]") {
  const auto stack_of = [](int number) {
    std::string stack;
    for (int i = 0; i < 20'000; ++i)
      stack += "thread thread " + std::to_string(number) + " (x)\n  f\n";
    return stack;
  };
  AttemptHistory attempt;
  attempt.stacks = {{"rank-0", stack_of(7), 1, 0},
                    {"rank-1", stack_of(1'234'567), 1, 0},
                    {"rank-2", "thread thread 7", 1, 0},
                    {"rank-3", "thread thread ", 1, 0},
                    {"rank-4", "thread thread x", 1, 0}};
  const std::vector<SharedStack> stacks = shared_stacks(attempt);
  REQUIRE(stacks.size() == 3);
  CHECK(stacks[0].ranks == std::vector{Rank{0}, Rank{1}});
  CHECK(stacks[1].ranks == std::vector{Rank{2}, Rank{3}});
}

TEST_CASE("lines of source are read by their place, and torn ones are passed over", "[excerpts]") {
  const SourceLines lines = read_sources(
      "/x/a.py:1\t    f(1)\n/x/b c.py:2\tg\t2 \nno tab\n\tno place\n/x/d.py:3\t "
      "\t\r\n/x/a.py:9\th");
  CHECK(lines == SourceLines{{"/x/a.py:1", "f(1)"}, {"/x/b c.py:2", "g\t2 "}, {"/x/a.py:9", "h"}});
  CHECK(read_sources("").empty());
}

TEST_CASE("a line of a stack has a place where it is a frame of Python", "[excerpts]") {
  struct {
    std::string_view line;
    std::string_view place;
  } const cases[] = {
      {"  /x/train.py:50 sleep", "/x/train.py:50"},
      {"  train.py:7 <module>", "train.py:7"},
      {"  /a b/train.py:50 f", "/a b/train.py:50"},
      {"train.py:50 f", ""},
      {"  /x/train.pyc:50 f", ""},
      {"  /x/train.c:50 f", ""},
      {"  /x/train.py f", ""},
      {"thread MainThread", ""},
      {"  ", ""},
      {"", ""},
  };
  for (const auto& each : cases) CHECK(place_of_frame(each.line) == each.place);
}

// ---- the status

TEST_CASE("the status of a run without figures, whole", "[status]") {
  RunStatus status;
  status.run = "r1";
  status.process.pid = 71;
  status.attempt = 2;
  status.profile = "no-p2p";
  status.command = {"torchrun", "train.py"};
  status.stages = {{0, "group"}, {1, "imported"}, {2, "group"}, {10, "group"}};
  status.waiting = "group 3/4 · waiting for rank 1 12s/180s";
  CHECK(render(status) ==
        "r1  pid 71  attempt 2 no-p2p\n"
        "    torchrun train.py\n"
        "    group: ranks 0 2 10\n"
        "    imported: rank 1\n"
        "    waiting for rank 1 12s/180s\n");
  status.training = true;
  status.collectives_a_second = 12.34;
  CHECK(render(status) ==
        "r1  pid 71  attempt 2 no-p2p, training\n"
        "    torchrun train.py\n"
        "    12.3 collectives a second\n");
}

TEST_CASE("the status of ranks that are seen, whole", "[status]") {
  RunStatus status;
  status.run = "r1";
  status.attempt = 1;
  status.profile = "basic";
  status.age = 3min;
  status.stages = {{0, "group"}, {2, "imported"}};
  status.since = {{0, 60s}, {2, 10min}};
  status.hosts = {{2, "gpu-17"}};
  status.figures[0] = {.pid = 70,
                       .cpu = 98,
                       .memory = 512U << 20U,
                       .children = 0,
                       .gpu_mib = 2'048,
                       .doing = "working: uses 98 % of a CPU"};
  status.figures[1] = {.pid = 71,
                       .cpu = std::nullopt,
                       .memory = 0,
                       .children = 1U << 30U,
                       .gpu_mib = std::nullopt,
                       .doing = "idling: sleeping in nanosleep"};
  status.gpus = {{0, 2'560, 81'920, std::nullopt}};
  CHECK(render(status) ==
        "r1  pid 0  attempt 1 basic\n"
        "   \n"
        "            reached   since  CPU   memory   its children  GPU memory  does\n"
        "    rank 0  group     2min   98 %  512 MiB  -             2.0 GiB     working\n"
        "    rank 1  spawned   -      -     -        1.0 GiB       -           idling: sleeping in "
        "nanosleep\n"
        "    rank 2  imported  0s     -     -        -             -           elsewhere: on "
        "gpu-17\n"
        "    GPU 0: 2.5 GiB of 80.0 GiB in use\n");
}

TEST_CASE("up to sixteen ranks have a row each, more share rows", "[status]") {
  for (const int count : {16, 17}) {
    RunStatus status;
    for (int rank = 0; rank < count; ++rank) {
      status.stages[rank] = "group";
      status.figures[rank] = {
          .pid = 1, .cpu = rank, .gpu_mib = {}, .doing = "idling: " + std::to_string(rank)};
    }
    const std::string text = render(status);
    CHECK(std::count(text.begin(), text.end(), '\n') == (count == 16 ? 19 : 4));
  }
}

TEST_CASE("a stage of no rank, and events of other versions, change no status", "[status]") {
  const ScratchFolder run;
  run.write("job.json", R"({"run":"r1","command":[]})");
  run.write("events.jsonl",
            "{\"e\":\"stage\",\"stage\":\"group\"}\n{\"e\":\"stage\",\"rank\":-7,\"stage\":\"x\"}\n"
            "{\"e\":\"weather\",\"rank\":1}\n\n\xff\n{\"e\":\"usage\",\"collectives\":[-1,-1]}\n"
            "{\"e\":\"usage\"}\n{\"e\":\"node\",\"attempt\":1,\"ranks\":[3],\"host\":\"h\"}");
  const RunStatus status = read_status(run.path).value();
  CHECK(status.stages.empty());
  CHECK_FALSE(status.collectives_a_second);
  CHECK(status.hosts == std::map<int, std::string>{{3, "h"}});
}

TEST_CASE("a new attempt forgets where the ranks of the last one were", "[status]") {
  const ScratchFolder run;
  run.write("job.json", R"({"run":"r1","command":["x"],"pid":"71","start_ticks":-1})");
  run.write("events.jsonl",
            R"({"e":"attempt","attempt":1,"profile":"basic"}
{"e":"stage","attempt":1,"rank":0,"stage":"group"}
{"e":"node","attempt":1,"ranks":[0],"host":"h"}
{"e":"status","attempt":1,"text":"waiting for rank 1"}
{"t":1,"e":"usage","attempt":1,"ranks":[0],"cpu":[0],"memory":[0],"children":[0],"collectives":[5]}
{"t":2,"e":"usage","attempt":1,"ranks":[0],"cpu":[0],"memory":[0],"children":[0],"collectives":[9]}
{"e":"training","attempt":1}
{"e":"attempt","attempt":2,"profile":"no-p2p"}
)");
  const RunStatus status = read_status(run.path).value();
  CHECK(status.process == ProcessId{0, 0});
  CHECK(status.attempt == 2);
  CHECK(status.profile == "no-p2p");
  CHECK(status.stages.empty());
  CHECK(status.hosts.empty());
  CHECK(status.waiting.empty());
  CHECK_FALSE(status.training);
  CHECK_FALSE(status.collectives_a_second);
}

TEST_CASE("two answers at one time, and fewer collectives than before, make no wild rate",
          "[status]") {
  const auto rate_of = [](const std::string& events) {
    const ScratchFolder run;
    run.write("job.json", R"({"run":"r1","command":[]})");
    run.write("events.jsonl", events);
    return read_status(run.path).value().collectives_a_second;
  };
  const std::string first =
      "{\"t\":1,\"e\":\"training\",\"attempt\":1}\n"
      "{\"t\":1,\"e\":\"usage\",\"attempt\":1,\"ranks\":[0,1],\"cpu\":[0,0],\"memory\":[0,0],"
      "\"children\":[0,0],\"collectives\":[10,8]}\n";
  CHECK_FALSE(rate_of(first));
  CHECK_FALSE(rate_of(first + "{\"t\":1,\"e\":\"usage\",\"attempt\":1,\"ranks\":[0],\"cpu\":[0],"
                              "\"memory\":[0],\"children\":[0],\"collectives\":[20]}"));
  CHECK(rate_of(first + "{\"t\":3,\"e\":\"usage\",\"attempt\":1,\"ranks\":[0,1],\"cpu\":[0,0],"
                        "\"memory\":[0,0],\"children\":[0,0],\"collectives\":[-1,20]}") == 5.0);
}

TEST_CASE("no runs are an empty list of JSON", "[status]") {
  CHECK(status_json({}) == "[]\n");
}
