#include "safelaunch/report/kept_runs.h"

#include <array>

#include "catch.h"
#include "scratch.h"

using namespace safelaunch;

using namespace safelaunch::report;
using namespace safelaunch::testing;
namespace fs = std::filesystem;

namespace {

struct Runs : ScratchFolder {
  void add_run(const std::string& id, const std::string& outcome = {}) const {
    write(id + "/job.json", R"({"run": ")" + id +
                                R"(", "pid": 71, "start_ticks": 5, "boot_id": "b",
                                "command": ["torchrun", "train\n.py"]})");
    if (!outcome.empty()) write(id + "/outcome.json", outcome);
  }
  [[nodiscard]] report::RunLine line(const std::string& id) const {
    return report::read_run_line(
        {id, path / id, path / id, fs::last_write_time(path / id / "job.json")});
  }
};

std::string outcome(const std::string& end, int status, const std::string& more = {}) {
  return R"({"attempts": [{"attempt": 1, "profile": "basic", "end": ")" + end + "\"" + more +
         R"(}], "exit_status": )" + std::to_string(status) + "}";
}

}  // namespace

TEST_CASE("how a run ended is told in a few words", "[known_runs]") {
  const Runs runs;
  runs.add_run("done", outcome("completed", 0));
  runs.add_run("hung", outcome("hung", 124, R"(, "cause": {"id": "rank-missing"})"));
  runs.add_run("healed",
               R"({"attempts": [{"end": "hung"}, {"end": "completed", "profile": "no-shm"}]})");
  runs.add_run("blocked", R"({"attempts": [], "exit_status": 75})");
  runs.add_run("killed");
  CHECK(report::end_in_words(runs.line("done")) == "completed");
  CHECK(report::end_in_words(runs.line("hung")) == "hung (rank-missing), status 124");
  CHECK(report::end_in_words(runs.line("healed")) == "completed with no-shm");
  CHECK(report::end_in_words(runs.line("blocked")) == "not started, status 75");
  CHECK(report::end_in_words(runs.line("killed")) == "cut off");
  auto living = runs.line("killed");
  living.state = report::RunRecord::State::running;
  CHECK(report::end_in_words(living) == "running");
}

TEST_CASE("a run is one line of the list, whatever its command holds", "[known_runs]") {
  const Runs runs;
  runs.add_run("r1", outcome("completed", 0));
  const std::array lines{runs.line("r1")};
  const std::string text = report::render(lines);
  CHECK(contains(text, "completed  torchrun 'train .py'\n"));
  CHECK(std::ranges::count(text, '\n') == 2);
  CHECK(lines[0].process == ProcessId{71, 5});
  const auto json = report::runs_json(lines);
  CHECK(contains(json, R"("state": "ended")"));
  CHECK(contains(json, (runs.path / "r1").native()));
}

TEST_CASE("a run that is kept elsewhere says where", "[known_runs]") {
  const Runs runs;
  runs.add_run("elsewhere");
  runs.write("places/x", "");
  fs::create_symlink(runs.path / "elsewhere", runs.path / "places/elsewhere");
  const std::array places{runs.path / "places"};
  const auto known = report::known_runs(places);
  REQUIRE(known.size() == 1);
  const std::array lines{report::read_run_line(known[0])};
  CHECK(contains(report::render(lines), "  in " + (runs.path / "elsewhere").native()));
}

TEST_CASE("a folder is a run where either record is a file", "[known_runs]") {
  const Runs runs;
  runs.write("job/job.json", "");
  runs.write("events/events.jsonl", "");
  runs.write("none/outcome.json", "{}");
  fs::create_directories(runs.path / "folder/job.json");
  CHECK(is_run(runs.path / "job"));
  CHECK(is_run(runs.path / "events"));
  for (const char* name : {"none", "folder", "nowhere", "job/job.json"})
    CHECK_FALSE(is_run(runs.path / name));
}

TEST_CASE("a run whose job.json a full disk did not take began with its first event",
          "[known_runs]") {
  const Runs runs;
  runs.write("20251122-153012-a1b2c3/events.jsonl", "{}\n");
  const auto known = report::known_runs(std::vector<fs::path>{runs.path});
  REQUIRE(known.size() == 1);
  CHECK(fs::file_time_type::clock::now() - known[0].began < std::chrono::hours(1));
  CHECK(report::read_run_line(known[0]).took < std::chrono::hours(1));
}

TEST_CASE("the id of a run is that of its record, and none where that is broken", "[known_runs]") {
  const Runs runs;
  runs.add_run("r1");
  runs.write("broken/job.json", "{");
  runs.write("number/job.json", R"({"run":7})");
  fs::create_directory(runs.path / "link");
  fs::create_symlink(runs.path / "r1/job.json", runs.path / "link/job.json");
  CHECK(recorded_id(runs.path / "r1") == "r1");
  for (const char* name : {"broken", "number", "nowhere", "link"})
    CHECK(recorded_id(runs.path / name).empty());
}

TEST_CASE("runs are known from the oldest to the newest, and by name where they are as old",
          "[known_runs]") {
  const Runs runs;
  const auto now = fs::file_time_type::clock::now();
  for (const char* id : {"c", "a", "b", "old"}) {
    runs.add_run(id);
    fs::last_write_time(runs.path / id / "job.json", now);
  }
  fs::last_write_time(runs.path / "old/job.json", now - std::chrono::hours(1));
  fs::create_directory(runs.path / "no run");
  const std::array places{runs.path, fs::path("/nowhere"), fs::path()};
  std::vector<std::string> ids;
  for (const KnownRun& run : known_runs(places)) ids.push_back(run.id);
  CHECK(ids == std::vector<std::string>{"old", "a", "b", "c"});
}

TEST_CASE("a link counts as long as its folder holds the run of that name", "[known_runs]") {
  const Runs runs;
  runs.add_run("elsewhere");
  fs::create_directory(runs.path / "places");
  for (const char* name : {"elsewhere", "renamed"})
    fs::create_symlink(runs.path / "elsewhere", runs.path / "places" / name);
  fs::create_symlink(runs.path / "gone", runs.path / "places/gone");
  const std::array places{runs.path / "places"};
  const auto known = known_runs(places);
  REQUIRE(known.size() == 1);
  CHECK(known[0].id == "elsewhere");
  CHECK(known[0].directory == runs.path / "elsewhere");
  CHECK(known[0].entry == runs.path / "places/elsewhere");
}

TEST_CASE("a run took until its outcome, or until its last record", "[known_runs]") {
  const Runs runs;
  runs.add_run("r1");
  const auto began = fs::last_write_time(runs.path / "r1/job.json");
  CHECK(runs.line("r1").took == Duration{});
  runs.write("r1/events.jsonl", "");
  fs::last_write_time(runs.path / "r1/events.jsonl", began + std::chrono::seconds(5));
  CHECK(runs.line("r1").took == std::chrono::seconds(5));
  runs.write("r1/outcome.json", "{}");
  fs::last_write_time(runs.path / "r1/outcome.json", began + std::chrono::seconds(9));
  CHECK(runs.line("r1").took == std::chrono::seconds(9));
  fs::last_write_time(runs.path / "r1/outcome.json", began - std::chrono::seconds(9));
  CHECK(runs.line("r1").took == Duration{});
}

TEST_CASE("a run of which the record is broken has a line all the same", "[known_runs]") {
  const Runs runs;
  for (const char* job : {"", "{", "[]", R"({"command":"x","pid":"y","start_ticks":-1})"}) {
    runs.write("r1/job.json", job);
    runs.write("r1/outcome.json", job);
    const RunLine line = runs.line("r1");
    CHECK(line.command.empty());
    CHECK(line.process == ProcessId{0, 0});
    CHECK_FALSE(line.outcome);
    CHECK(end_in_words(line) == "cut off");
  }
}

TEST_CASE("the list of runs is a table with the newest last", "[known_runs]") {
  CHECK(render({}) == "no run is recorded\n");
  const Runs runs;
  runs.add_run("r1", outcome("completed", 0));
  runs.add_run("r22", outcome("hung", 124));
  const std::array lines{runs.line("r1"), runs.line("r22")};
  const std::string text = render(lines);
  CHECK(text.starts_with("ID   STARTED           TOOK       END               COMMAND\nr1   20"));
  CHECK(contains(text, "  completed         torchrun 'train .py'\nr22  20"));
  CHECK(text.ends_with("  hung, status 124  torchrun 'train .py'\n"));
}

TEST_CASE("no escape sequence of a record reaches the list of runs", "[known_runs]") {
  RunLine line;
  line.run.id = "r1\x1b[31m";
  line.run.directory = "/a\x1b]0;t\a";
  line.run.entry = "/b";
  line.command = {"train.py", "\x1b[2J", "a\nb", "\xe2\x80\xae"};
  line.outcome.emplace();
  line.outcome->attempts.resize(2);
  line.outcome->attempts.back().profile = "p\x1b[1m";
  const std::array lines{line};
  const std::string text = render(lines);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(command_in_words(line) == "train.py '' 'a b' '\ufffd'");
  CHECK(std::ranges::count(text, '\n') == 3);
}

TEST_CASE("the list of runs as JSON has an exit status only where a run has ended",
          "[known_runs]") {
  CHECK(runs_json({}) == "[]\n");
  RunLine line;
  line.run.id = "r1";
  line.started = "now";
  line.took = std::chrono::milliseconds(1'500);
  line.command = {"x", "\xff"};
  line.run.directory = "/runs/r1";
  const std::string open = runs_json(std::array{line});
  CHECK(open == R"([
  {
    "run": "r1",
    "started": "now",
    "seconds": 1.5,
    "state": "cut off",
    "end": "cut off",
    "exit_status": null,
    "command": [
      "x",
      "�"
    ],
    "directory": "/runs/r1"
  }
]
)");
  line.outcome.emplace().exit_code = 75;
  line.state = RunRecord::State::ended;
  const std::string ended = runs_json(std::array{line});
  CHECK(contains(ended, "\"end\": \"not started, status 75\""));
  CHECK(contains(ended, "\"exit_status\": 75"));
}
