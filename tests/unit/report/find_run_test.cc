#include "safelaunch/report/kept_runs.h"

#include <array>

#include "catch.h"
#include "scratch.h"

using namespace safelaunch;

using namespace safelaunch::report;
using namespace safelaunch::testing;
namespace fs = std::filesystem;

namespace {

// Three runs, each a minute younger than the one before; names do not tell.
struct ThreeRuns : ScratchFolder {
  ThreeRuns() {
    add_run("20261121-150653-b939a3", 0);
    add_run("20261121-151011-fc46ef", 2);
    add_run("20261121-151031-6df22e", 1);
    write("no-run/x", "");
  }
  void add_run(const std::string& id, int minute) const {
    write(id + "/job.json", "{}");
    fs::last_write_time(path / id / "job.json", fs::file_time_type(std::chrono::hours(1'000) +
                                                                   std::chrono::minutes(minute)));
  }
  [[nodiscard]] Result<fs::path> find(std::string_view named) const {
    const std::array places{path / "none", path};
    return report::find_run(named, places);
  }
};

}  // namespace

TEST_CASE("without a name the newest run is meant", "[find_run]") {
  const ThreeRuns runs;
  CHECK(newest_run(std::array{runs.path}).value() == runs.path / "20261121-151011-fc46ef");
}

TEST_CASE("an empty word and a word that begins with a dash name no run", "[find_run]") {
  const ThreeRuns runs;
  const auto empty = runs.find("");
  REQUIRE(empty.has_error());
  CHECK(empty.error().code == Errc::usage);
  CHECK(contains(empty.error().message, "'' names no run"));
  for (const char* word : {"-b", "-151011-fc46ef", "-150653", "-", "53-b9", "1-1"}) {
    INFO(word);
    const auto found = runs.find(word);
    REQUIRE(found.has_error());
    CHECK(contains(found.error().message, "there is no run '" + std::string(word) + "'"));
  }
}

TEST_CASE("a run is found by its id, by any part that no other has, and by its path",
          "[find_run]") {
  const ThreeRuns runs;
  CHECK(runs.find("20261121-150653-b939a3").value() == runs.path / "20261121-150653-b939a3");
  CHECK(runs.find("20261121-1506").value() == runs.path / "20261121-150653-b939a3");
  for (const char* part : {"6df2", "f22e", "1031", "151031-6d", "20261121-151031"})
    CHECK(runs.find(part).value() == runs.path / "20261121-151031-6df22e");
  const std::string path = runs.path / "20261121-151031-6df22e";
  CHECK(runs.find(path).value() == path);
}

TEST_CASE("a part of several ids is refused, and each is named with its command", "[find_run]") {
  const ThreeRuns runs;
  runs.write("20261121-151031-6df22e/job.json", R"({"command": ["torchrun", "train.py"]})");
  const auto found = runs.find("20261121-1510");
  REQUIRE(found.has_error());
  CHECK(found.error().code == Errc::usage);
  CHECK(contains(found.error().message, "'20261121-1510' is in the names of 2 runs"));
  CHECK(contains(found.error().message, "\n  20261121-151031-6df22e  torchrun train.py"));
  CHECK(contains(found.error().message, "\n  20261121-151011-fc46ef"));
}

TEST_CASE("a run that is kept elsewhere is found by its link, and only as long as it is there",
          "[find_run]") {
  const ThreeRuns runs;
  runs.write("elsewhere/job.json", R"({"run": "20261121-160000-abcdef"})");
  fs::create_symlink(runs.path / "elsewhere", runs.path / "20261121-160000-abcdef");
  CHECK(runs.find("abcdef").value() == runs.path / "elsewhere");
  runs.write("elsewhere/job.json", R"({"run": "another"})");
  CHECK(runs.find("abcdef").has_error());
}

TEST_CASE("an unknown run is refused, with the nearest and the newest", "[find_run]") {
  const auto found = ThreeRuns().find("20261121-150653-b939a4");
  REQUIRE(found.has_error());
  CHECK(contains(found.error().message, "did you mean '20261121-150653-b939a3'?"));
  CHECK(contains(found.error().message, "the newest is 20261121-151011-fc46ef"));
  CHECK(contains(ThreeRuns().find("/tmp").error().message, "/tmp is no run directory"));
}

TEST_CASE("where no run is recorded, the places that were looked at are named", "[find_run]") {
  const std::array places{fs::path("/nowhere/runs")};
  CHECK(contains(newest_run(places).error().message, "no run is recorded below /nowhere/runs"));
}
