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
  CHECK(contains(text, "completed  torchrun train .py\n"));
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
