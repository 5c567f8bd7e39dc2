#include <sys/stat.h>

#include "catch.h"
#include "launcher/report/excerpts.h"
#include "recorded_runs.h"
#include "safelaunch/report/report.h"
#include "safelaunch/report/run_files.h"
#include "safelaunch/report/run_record.h"

using namespace safelaunch;
using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

struct PlainCase {
  std::string bytes;
  std::string shown;
};

void check_plain_texts(const std::vector<PlainCase>& cases) {
  for (const PlainCase& each : cases) {
    CHECK(plain_text(each.bytes) == each.shown);
    CHECK(plain_text(each.shown) == each.shown);
  }
}

RunRecord run_with_events(const std::string& events) {
  RunFiles files;
  files.directory = "/runs/r1";
  add(files, "events.jsonl", events);
  return parse_run(files);
}

std::vector<EnvironmentChange> changes_of(const std::string& text) {
  RunFiles files;
  add(files, "attempt-1-basic/env.diff", text);
  return parse_run(files).attempts.at(0).environment;
}

std::string first_log(const std::string& text, std::size_t limit) {
  const ScratchFolder run;
  run.write("attempt-1-basic/rank-0.out", text);
  ReadLimits limits;
  limits.log = limit;
  return read_run_files(run.path, limits).files.at(0).text;
}

}  // namespace

// ---- plain text

TEST_CASE("escape sequences of every kind are gone", "[plain_text]") {
  check_plain_texts({
      {"\x1b[0mx", "x"},
      {"\x1b[1;31;40mx\x1b[m", "x"},
      {"\x1b[?25lx\x1b[?25h", "x"},
      {"\x1b[2Kx\x1b[1A", "x"},
      {"\x1b[38;2;1;2;3mx", "x"},
      {"\x1b[38:5:1mx", "x"},
      {"\x1b[ qx", "x"},
      {"\x1b]0;title\x07x", "x"},
      {"\x1b]8;;https://h\x1b\\link\x1b]8;;\x1b\\", "link"},
      {"\x1bPq#0;2;0\x1b\\x", "x"},
      {"\x1b^private\x1b\\x", "x"},
      {"\x1b_application\x1b\\x", "x"},
      {"\x1bXstring\x1b\\x", "x"},
      {"\x1b(Bx\x1b)0", "x"},
      {"\x1b"
       "7x\x1b"
       "8",
       "x"},
      {"\x1b=x\x1b>", "x"},
      {"\x1b#8x", "x"},
      {"\x1b%Gx", "x"},
      {"\x1b"
       "Mx",
       "x"},
  });
}

TEST_CASE("an escape sequence that is cut off hides nothing behind its line", "[plain_text]") {
  check_plain_texts({
      {"\x1b", ""},
      {"x\x1b", "x"},
      {"x\x1b[", "x"},
      {"x\x1b[1;3", "x"},
      {"x\x1b]0;ti", "x"},
      {"x\x1b]0;ti\ny", "x\ny"},
      {"x\x1bPq\ny", "x\ny"},
      {"x\x1b[1\ny", "x\ny"},
      {"x\x1b\ny", "x\ny"},
      {"x\x1b(\ny", "x\ny"},
      {"x\x1b]0;a\x1b[31my", "xy"},
  });
}

TEST_CASE("a carriage return draws over its line, and none is left", "[plain_text]") {
  check_plain_texts({
      {"a\rb", "b"},
      {"long line\rx", "x"},
      {"a\r", "a"},
      {"a\r\r\n", "a\n"},
      {"\ra", "a"},
      {"\r\n\r\n", "\n\n"},
      {"a\nb\rc\nd", "a\nc\nd"},
      {"a\r\x1b[K", "a"},
      {"10%\r20%\r30%\n", "30%\n"},
  });
}

TEST_CASE("control characters and broken UTF-8 are marked one by one", "[plain_text]") {
  check_plain_texts({
      {std::string("\0", 1), "\ufffd"},
      {"\x01\x08\x0b\x0c\x7f", "\ufffd\ufffd\ufffd\ufffd\ufffd"},
      {"a\tb", "a\tb"},
      {"\xc2\x80\xc2\x9f", "\ufffd\ufffd"},
      {"\xc2\xa0", "\xc2\xa0"},
      {"\xe2\x80\x8e\xe2\x80\x8f", "\ufffd\ufffd"},
      {"\xe2\x81\xa6\xe2\x81\xa9", "\ufffd\ufffd"},
      {"\xe2\x80\x8d", "\xe2\x80\x8d"},
      {"ä€𝄞", "ä€𝄞"},
      {"\xc3", "\ufffd"},
      {"\x80x", "\ufffdx"},
  });
}

TEST_CASE("plain text is no longer than three times its bytes, whatever they are", "[plain_text]") {
  std::uint32_t state = 7;
  for (int i = 0; i < 50; ++i) {
    std::string bytes;
    for (int k = 0; k < 500; ++k) {
      state = state * 1'664'525 + 1'013'904'223;
      bytes += static_cast<char>(state >> 24U);
      if (k % 9 == 0) bytes += "\x1b[";
    }
    const std::string text = plain_text(bytes);
    CHECK(text.size() <= 3 * bytes.size());
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(plain_text(text) == text);
  }
}

// ---- files

TEST_CASE("of a cut log the torn first line goes, or its torn first words", "[run_files]") {
  CHECK(first_log("abcdefgh\nsecond\nthird\n", 16) == "second\nthird\n");
  CHECK(first_log("a\nb\n", 100) == "a\nb\n");
  CHECK(first_log("a\nb\n", 4) == "a\nb\n");
  CHECK(first_log(std::string(50, 'x') + " " + std::string(30, 'y') + " zz", 40) ==
        std::string(30, 'y') + " zz");
  CHECK(first_log(std::string(100, 'x'), 40).size() == 30);
}

TEST_CASE("of a long record both ends are read, in whole lines", "[run_files]") {
  const ScratchFolder run;
  std::string text;
  for (int i = 0; i < 1'000; ++i)
    text += R"({"t":1,"e":"status","attempt":1,"text":")" + std::to_string(i) + "\"}\n";
  run.write("events.jsonl", text);
  ReadLimits limits;
  limits.record = 4'000;
  const RunFiles files = read_run_files(run.path, limits);
  CHECK(files.files.at(0).text.size() <= 4'000);
  CHECK(files.files.at(0).left_out == text.size() - files.files.at(0).text.size());
  const RunRecord read = parse_run(files);
  CHECK(read.unreadable == 0);
  CHECK(read.lines.front().text == "0");
  CHECK(read.lines.back().text == "999");
}

TEST_CASE("logs that nobody has room for are counted", "[run_files]") {
  const ScratchFolder run;
  for (int i = 0; i < 10; ++i)
    run.write("attempt-1-basic/rank-" + std::to_string(i) + ".out", std::string(4'000, '\n'));
  run.write("attempt-1-basic/launcher.out", "");
  ReadLimits limits;
  limits.logs = 4'000;
  const RunFiles files = read_run_files(run.path, limits);
  CHECK(files.files.size() + files.passed_over == 10);
  CHECK(files.passed_over == 8);
}

TEST_CASE("each kind of file is known by its place and name", "[run_files]") {
  const ScratchFolder run;
  const std::vector<std::string> read{"attempt-1-basic/env.diff",
                                      "attempt-1-basic/evidence/ras.txt",
                                      "attempt-1-basic/launcher.err",
                                      "attempt-1-basic/nccl.h.1",
                                      "attempt-1-basic/rank-0.err",
                                      "attempt-12-x/rank-0.out",
                                      "events.jsonl",
                                      "job.json",
                                      "outcome.json"};
  for (const std::string& name : read) run.write(name, "x");
  for (const char* name : {"attempt-1-basic/job.json", "attempt-1-basic/env.diff.old", "env.diff",
                           "rank-0.out", "evidence/x", "attempt-1-basic/other/x.out", "a/b/c/d.out",
                           "attempt-1-basic/evidence/a/b.stack", ".job.json", "job.json~",
                           "report.html", "attempt/rank-0.out"})
    run.write(name, "x");
  std::vector<std::string> names;
  for (const RecordedFile& file : read_run_files(run.path).files) names.push_back(file.name);
  CHECK(names == read);
}

TEST_CASE("a file that may not be read is passed over", "[run_files]") {
  const ScratchFolder run;
  run.write("job.json", "{}");
  std::filesystem::create_directory(run.path / "events.jsonl");
  std::filesystem::create_directory_symlink("/etc", run.path / "attempt-1-basic");
  std::vector<std::string> names;
  for (const RecordedFile& file : read_run_files(run.path).files) names.push_back(file.name);
  CHECK(names == std::vector<std::string>{"job.json"});
}

TEST_CASE("a name that is not there has no text", "[run_files]") {
  CHECK(RunFiles{}.text("job.json").empty());
}

// ---- records

TEST_CASE("a record that is cut off at any byte is read up to its last whole line",
          "[run_record]") {
  const std::string events = std::string(kFirstAttempt) + kVerdict + kSecondAttempt;
  std::size_t last_lines_read = 0;
  for (std::size_t size = 0; size <= events.size(); ++size) {
    RunFiles files = healed_run();
    files.files[5].text = events.substr(0, size);
    const RunRecord run = parse_run(files);
    CHECK(run.unreadable <= 1);
    CHECK(run.lines.size() >= last_lines_read);
    last_lines_read = run.lines.size();
  }
}

TEST_CASE("any file of a run may be missing or empty", "[run_record]") {
  const RunFiles whole = healed_run();
  for (std::size_t i = 0; i < whole.files.size(); ++i) {
    RunFiles missing = whole;
    missing.files.erase(missing.files.begin() + static_cast<std::ptrdiff_t>(i));
    RunFiles empty = whole;
    empty.files[i].text.clear();
    for (const RunFiles& files : {missing, empty}) {
      const RunRecord run = parse_run(files);
      CHECK(run.id == "20261121-150653-b939a3");
      CHECK(run.attempts.size() == 2);
      CHECK_FALSE(text_report(run).empty());
    }
  }
}

TEST_CASE("a run without a job.json has the name of its folder", "[run_record]") {
  CHECK(run_with_events("").id == "r1");
  CHECK(run_with_events(R"({"e":"run","run":"r7","command":["x"]})").id == "r7");
  CHECK(run_with_events(R"({"e":"run","run":"r7","command":["x"]})").summary.command ==
        std::vector<std::string>{"x"});
}

TEST_CASE("blank lines of a record are nothing, others without an event are counted",
          "[run_record]") {
  const RunRecord run = run_with_events("\n\n{}\nx\n\n{\"e\":\"end\",\"exit_status\":3}\n\n");
  CHECK(run.unreadable == 2);
  CHECK(run.state == RunRecord::State::ended);
  CHECK(run.summary.exit_code == 3);
}

TEST_CASE("the first time at which a rank reached a stage counts", "[run_record]") {
  const RunRecord run = run_with_events(
      R"({"t":1,"e":"stage","attempt":1,"rank":0,"stage":"group"}
{"t":9,"e":"stage","attempt":1,"rank":0,"stage":"group"})");
  CHECK(run.attempts.at(0).ranks.at(Rank{0}).reached[static_cast<std::size_t>(Stage::group)] == 1s);
}

TEST_CASE("events before the first attempt belong to none", "[run_record]") {
  const RunRecord run = run_with_events(
      R"({"e":"stage","rank":0,"stage":"group"}
{"e":"exit","rank":0,"status":"x"}
{"e":"verdict","kind":"hung"}
{"e":"cause","id":"x"}
{"e":"signal","signal":"SIGTERM"}
{"e":"usage","ranks":[],"cpu":[],"memory":[],"children":[]}
{"e":"counted","rank":0,"collectives":1}
{"e":"nccl","version":"2"}
{"e":"node","ranks":[0],"host":"h"}
{"e":"status","text":"x"}
{"e":"probe","profile":"p"}
{"e":"collectives"}
{"e":"training"}
{"e":"attempt","profile":"p"})");
  CHECK(run.attempts.empty());
  CHECK(run.unreadable == 0);
}

TEST_CASE("an attempt whose number leaves a gap has empty ones before it", "[run_record]") {
  const RunRecord run = run_with_events(R"({"t":5,"e":"attempt","attempt":3,"profile":"p"})");
  REQUIRE(run.attempts.size() == 3);
  CHECK(run.attempts[0].told.number == 1);
  CHECK(run.attempts[2].told.profile == "p");
  CHECK(run.summary.attempts.size() == 2);
}

TEST_CASE("a cause, a verdict and a signal make an attempt a failure of that kind",
          "[run_record]") {
  const auto failure_of = [](const std::string& event) {
    return run_with_events(R"({"t":1,"e":"attempt","attempt":1,"profile":"p"})"
                           "\n" +
                           event)
        .attempts.at(0)
        .told.failure;
  };
  CHECK_FALSE(failure_of(R"({"t":2,"e":"training","attempt":1})"));
  CHECK(failure_of(R"({"t":2,"e":"verdict","attempt":1,"kind":"stalled"})")->kind ==
        FailureKind::stalled);
  CHECK(failure_of(R"({"t":2,"e":"signal","attempt":1,"signal":"SIGINT"})")->kind ==
        FailureKind::interrupted);
  const auto cause = failure_of(
      R"({"t":2,"e":"cause","attempt":1,"id":"oom","certainty":"matched","text":"no memory"})");
  CHECK(cause->cause == "oom");
  CHECK(cause->certainty == Certainty::matched);
  CHECK(cause->explanation == "no memory");
}

TEST_CASE("the suspects are the missing ranks, or the first that failed by itself",
          "[run_record]") {
  const RunRecord died = run_with_events(
      R"({"t":1,"e":"exit","attempt":1,"rank":4,"status":"exit status 0"}
{"t":2,"e":"exit","attempt":1,"rank":3,"status":"exit status 1"}
{"t":3,"e":"exit","attempt":1,"rank":2,"status":"exit status 1"})");
  CHECK(suspects(died.attempts.at(0)) == std::vector{Rank{3}});
  const RunRecord hung = run_with_events(
      R"({"t":2,"e":"exit","attempt":1,"rank":3,"status":"exit status 1"}
{"t":3,"e":"verdict","attempt":1,"kind":"hung","waiting":[0],"missing":[7,5]})");
  CHECK(suspects(hung.attempts.at(0)) == std::vector{Rank{5}, Rank{7}});
  CHECK(suspects(AttemptHistory{}).empty());
}

TEST_CASE("a look whose lists contradict each other is passed over", "[run_record]") {
  const RunRecord run = run_with_events(
      R"({"e":"usage","attempt":1,"ranks":[0],"cpu":[1],"memory":[1],"children":[1]}
{"e":"usage","attempt":1,"ranks":[0],"cpu":[1],"memory":[1],"children":[1],"collectives":[1]}
{"e":"usage","attempt":1,"ranks":[0],"cpu":[1],"memory":[1],"children":[1],"collectives":[1,2]}
{"e":"usage","attempt":1,"ranks":[0,1],"cpu":[1],"memory":[1],"children":[1]}
{"e":"usage","attempt":1,"ranks":[0],"cpu":["x"],"memory":[1],"children":[1]}
{"e":"gpus","attempt":1,"gpu":[0],"used":[1],"size":[2],"busy":[3],"ranks":[],"held":[]}
{"e":"gpus","attempt":1,"gpu":[0],"used":[1],"size":[2],"busy":[3],"ranks":[1],"held":[]}
{"e":"ways","from":[0],"to":[1],"interface":["e"],"end":["reached"],"round_trip_us":[]})");
  CHECK(run.attempts.at(0).usage.size() == 2);
  CHECK(run.attempts.at(0).gpus.size() == 1);
  CHECK_FALSE(run.ways);
}

TEST_CASE("counts of a rank that cannot be are passed over", "[run_record]") {
  const RunRecord run = run_with_events(
      R"({"e":"counted","attempt":1,"rank":0,"collectives":-1}
{"e":"counted","attempt":1,"rank":-1,"collectives":5}
{"e":"counted","attempt":1,"rank":100001,"collectives":5}
{"e":"counted","attempt":1,"rank":1,"collectives":5})");
  CHECK(run.attempts.at(0).ranks.size() == 1);
  CHECK(run.attempts.at(0).ranks.at(Rank{1}).finished->count == 5);
}

TEST_CASE("each severity of a finding is read, and an unknown one is a note", "[run_record]") {
  for (const auto& [word, severity] :
       std::vector<std::pair<std::string, Severity>>{{"note", Severity::note},
                                                     {"risk", Severity::risk},
                                                     {"blocks", Severity::blocks},
                                                     {"fatal", Severity::note},
                                                     {"", Severity::note}})
    CHECK(run_with_events(R"({"e":"finding","id":"x","severity":")" + word + "\"}")
              .findings.at(0)
              .severity == severity);
}

TEST_CASE("a change of the environment is split from its reason", "[run_record]") {
  const auto changes =
      changes_of("+ A=1  # profile x\n- B=2  # it # hurts\n+ C=a  # b  # why\n+ D=4");
  REQUIRE(changes.size() == 4);
  CHECK(changes[0].change == "+ A=1");
  CHECK(changes[0].why == "profile x");
  CHECK(changes[1].why == "it # hurts");
  CHECK(changes[2].change == "+ C=a  # b");
  CHECK(changes[2].why == "why");
  CHECK(changes[3].change == "+ D=4");
  CHECK(changes[3].why.empty());
}

TEST_CASE("a change of many lines without a reason is one change, and is read in linear time",
          "[run_record]") {
  const std::string lines(300'000, '\n');
  const auto changes = changes_of("+ A=" + lines + "b");
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].change == "+ A=" + lines + "b");
  CHECK(changes_of("+ A=x\ny  # why\n").at(0).change == "+ A=x\ny");
}

TEST_CASE("folders that only look like an attempt's hold none of its files", "[run_record]") {
  RunFiles files;
  for (const char* name : {"attempt-/rank-0.out", "attempt-x-basic/rank-0.out", "attempt-1-basic",
                           "attempt--1-x/rank-0.out", "attempt-101-x/rank-0.out",
                           "attempt-99999999999-x/rank-0.out", "rank-0.out"})
    add(files, name, "x");
  CHECK(parse_run(files).attempts.empty());
  add(files, "attempt-2-no-p2p/rank-0.out", "x");
  add(files, "attempt-1/rank-0.out", "x");
  const RunRecord run = parse_run(files);
  REQUIRE(run.attempts.size() == 2);
  CHECK(run.attempts[0].told.profile.empty());
  CHECK(run.attempts[1].told.profile == "no-p2p");
}

TEST_CASE("an outcome of absurd attempts is shown as it is told, and draws none", "[run_record]") {
  RunFiles files;
  add(files, "outcome.json",
      R"({"attempts":[{"attempt":0},{"attempt":-3},{"attempt":2000000000,"end":"completed"}]})");
  const RunRecord run = parse_run(files);
  CHECK(run.summary.attempts.size() == 3);
  CHECK(run.attempts.empty());
  CHECK(run.state == RunRecord::State::ended);
}

TEST_CASE("each state of a run has its word", "[run_record]") {
  CHECK(std::string(name(RunRecord::State::ended)) == "ended");
  CHECK(std::string(name(RunRecord::State::running)) == "running");
  CHECK(std::string(name(RunRecord::State::cut_off)) == "cut off");
}

TEST_CASE("every run that can be read can be shown as text and as a page", "[run_record]") {
  const std::vector<std::string> values{"null", "-1", "1e300",          "\"\xc3\xa4<b>\"",
                                        "[]",   "{}", "[1,\"x\",null]", "99999999999999999999"};
  const std::vector<std::string> events{
      "run",  "finding", "attempt", "stage", "node", "ways", "probe",       "usage",
      "gpus", "counted", "verdict", "cause", "exit", "nccl", "collectives", "status"};
  for (const std::string& value : values) {
    std::string text;
    for (const std::string& event : events) {
      text += R"({"e":")" + event + R"(","attempt":1)";
      for (const char* field :
           {"t",    "rank",        "stage",    "ranks",     "text",          "profile", "hosts",
            "from", "to",          "end",      "interface", "round_trip_us", "waiting", "missing",
            "cpu",  "memory",      "children", "gpu",       "used",          "size",    "busy",
            "held", "collectives", "id",       "status",    "left_out",      "mb_per_s"})
        text += ",\"" + std::string(field) + "\":" + value;
      text += "}\n";
    }
    const RunRecord run = run_with_events(text);
    CHECK_FALSE(text_report(run).empty());
    CHECK(html_report(run).find("<b>") == std::string::npos);
  }
}
