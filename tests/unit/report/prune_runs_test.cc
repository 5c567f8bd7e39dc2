#include "safelaunch/report/kept_runs.h"

#include <algorithm>

#include "catch.h"
#include "scratch.h"

using namespace safelaunch;

using namespace safelaunch::report;
using namespace safelaunch::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const fs::file_time_type kNow{std::chrono::hours(100'000)};

report::KeptRun aged(const std::string& id, int days,
                     report::RunLife life = report::RunLife::over) {
  return {id, kNow - std::chrono::days(days), life};
}

std::vector<fs::path> removed(std::vector<report::KeptRun> runs, report::KeepLimits limits = {}) {
  return report::runs_to_remove(std::move(runs), limits, kNow);
}

/// Runs of which all were written to long ago.
struct Kept : ScratchFolder {
  void add_run(const std::string& id) const {
    write(id + "/job.json", R"({"run": ")" + id + R"("})");
    write(id + "/attempt-1-basic/launcher.out", "text");
    age(id);
  }
  void age(const std::string& name) const {
    const auto old = fs::file_time_type::clock::now() - std::chrono::days(40);
    for (const auto& entry : fs::recursive_directory_iterator(path / name))
      fs::last_write_time(entry.path(), old);
    fs::last_write_time(path / name, old);
  }
  void remove_old(report::RunLife life = report::RunLife::over) const {
    report::remove_old_runs(path, {}, [life](const fs::path&) { return life; });
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return fs::exists(fs::symlink_status(path / name));
  }
};

constexpr const char* kId = "20251122-153012-a1b2c3";

}  // namespace

TEST_CASE("runs that are too old or too many go, the newest stay", "[prune_runs]") {
  CHECK(removed({aged("a", 29), aged("b", 31)}) == std::vector<fs::path>{"b"});
  CHECK(removed({aged("a", 3), aged("b", 1), aged("c", 2)}, {.runs = 2}) ==
        std::vector<fs::path>{"a"});
  CHECK(removed({aged("a", 300), aged("b", 1)}, {.runs = 0, .days = 0}).empty());
}

TEST_CASE("a run that is not over stays", "[prune_runs]") {
  CHECK(removed({aged("a", 300, report::RunLife::running), aged("b", 1)}, {.runs = 1}).empty());
  CHECK(removed({aged("a", 3, report::RunLife::unknown), aged("b", 1)}, {.runs = 1}).empty());
  CHECK(removed({aged("a", 31, report::RunLife::unknown)}) == std::vector<fs::path>{"a"});
}

TEST_CASE("an old run is removed whole", "[prune_runs]") {
  const Kept kept;
  kept.add_run(kId);
  kept.remove_old(report::RunLife::running);
  CHECK(kept.has(kId));
  kept.remove_old();
  CHECK_FALSE(kept.has(kId));
}

TEST_CASE("so that not every run reads all others, a tenth more than are kept may gather",
          "[prune_runs]") {
  const Kept kept;
  const auto add = [&](int number) {
    const std::string id = "20251122-1530" + std::to_string(number) + "-a1b2c3";
    kept.write(id + "/job.json", R"({"run": ")" + id + R"("})");
  };
  const auto left = [&] { return std::distance(fs::directory_iterator(kept.path), {}); };
  const auto remove_old = [&] {
    report::remove_old_runs(kept.path, {.runs = 10},
                            [](const fs::path&) { return report::RunLife::over; });
  };
  for (int number = 10; number < 21; ++number) add(number);
  remove_old();
  CHECK(left() == 11);
  add(21);
  remove_old();
  CHECK(left() == 10);
}

TEST_CASE("what is not provably a run of ours is never removed", "[prune_runs]") {
  const Kept kept;
  kept.add_run(kId);  // so that there is something to remove
  kept.add_run("20251122-153012-a1b2cz");
  kept.add_run("results");
  kept.write("20251122-153013-a1b2c3/job.json", R"({"run": "another"})");
  kept.age("20251122-153013-a1b2c3");
  kept.write("20251122-153014-a1b2c3/train.py", "");
  kept.age("20251122-153014-a1b2c3");
  kept.write("20251122-153015-a1b2c3", "a file");
  kept.remove_old();
  CHECK_FALSE(kept.has(kId));
  for (const char* name : {"20251122-153012-a1b2cz", "results", "20251122-153013-a1b2c3/job.json",
                           "20251122-153014-a1b2c3/train.py", "20251122-153015-a1b2c3"})
    CHECK(kept.has(name));
}

TEST_CASE("of a run that is kept elsewhere only the link goes", "[prune_runs]") {
  const Kept kept;
  kept.write("mine/job.json", std::string(R"({"run": ")") + kId + R"("})");
  kept.write("mine/notes.txt", "mine");
  kept.age("mine");
  fs::create_symlink(kept.path / "mine", kept.path / kId);
  kept.remove_old();
  CHECK_FALSE(kept.has(kId));
  CHECK(kept.has("mine/notes.txt"));
}

TEST_CASE("a link in an old run is removed and not followed", "[prune_runs]") {
  const Kept kept;
  kept.write("precious/data", "mine");
  kept.add_run(kId);
  fs::create_symlink(kept.path / "precious", kept.path / kId / "attempt-1-basic/evidence");
  fs::create_symlink(kept.path / "precious/data", kept.path / kId / "attempt-1-basic/rank-0.out");
  kept.age(kId);
  kept.age("precious");
  kept.remove_old();
  CHECK_FALSE(kept.has(kId));
  CHECK(kept.has("precious/data"));
}

TEST_CASE("an old run in which the user keeps a file or a link of his own stays whole",
          "[prune_runs]") {
  for (const char* file : {"model.pt", "notes/today", "attempt-1-basic/model.pt",
                           "attempt-1-basic/rank-0.out/model.pt", "attempt-1-basic/evidence/mine",
                           "attempt-1-basic/launcher/none_a1/attempt_0/0/core"}) {
    CAPTURE(file);
    const Kept kept;
    kept.add_run(kId);
    kept.write(std::string(kId) + "/" + file, "mine");
    kept.age(kId);
    kept.remove_old();
    CHECK(kept.has(std::string(kId) + "/" + file));
    CHECK(kept.has(std::string(kId) + "/job.json"));
    CHECK(kept.has(std::string(kId) + "/attempt-1-basic/launcher.out"));
  }
  const Kept kept;
  kept.add_run(kId);
  fs::create_symlink("/nowhere", kept.path / kId / "data");
  kept.age((std::string(kId) + "/attempt-1-basic").c_str());
  fs::last_write_time(kept.path / kId,
                      fs::file_time_type::clock::now() - std::chrono::hours(1'000));
  kept.remove_old();
  CHECK(kept.has(std::string(kId) + "/data"));
}

TEST_CASE("every file that safelaunch and torchrun make in a run goes with it", "[prune_runs]") {
  const Kept kept;
  kept.add_run(kId);
  for (const char* file :
       {"events.jsonl", "outcome.json", "segments", "report.html",
        "hook-0123456789abcdef/_safelaunch_hook/door.py", "attempt-1-basic/env.diff",
        "attempt-1-basic/launcher.err", "attempt-1-basic/rank-12.out",
        "attempt-1-basic/nccl.node1.71", "attempt-1-basic/evidence/rank-3.stack",
        "attempt-1-basic/evidence/collectives", "attempt-1-basic/evidence/ras.txt",
        "attempt-2-fewer@8/rank-0.err", "attempt-2-fewer@8/launcher/none_x1/attempt_0/0/stderr.log",
        "attempt-2-fewer@8/launcher/none_x1/attempt_0/0/error.json"})
    kept.write(std::string(kId) + "/" + file, "text");
  kept.age(kId);
  kept.remove_old();
  CHECK_FALSE(kept.has(kId));
}

TEST_CASE("hooks and plugins of other versions go when nothing has used them for long",
          "[prune_runs]") {
  const Kept cache;
  for (const char* name : {"hook-0123456789abcdef", "plugin-0123456789abcdef", "hook-of-mine",
                           "measured-0123456789abcdef"}) {
    cache.write(std::string(name) + "/file", "");
    cache.age(name);
  }
  cache.write("hook-fedcba9876543210/file", "");
  const auto an_old_run = [] { return fs::file_time_type::min(); };
  report::remove_old_installations(cache.path, {}, an_old_run);
  CHECK(cache.has("hook-0123456789abcdef"));
  report::remove_old_installations(cache.path, {}, [] { return fs::file_time_type::max(); });
  CHECK_FALSE(cache.has("hook-0123456789abcdef"));
  CHECK_FALSE(cache.has("plugin-0123456789abcdef"));
  for (const char* name : {"hook-of-mine", "measured-0123456789abcdef", "hook-fedcba9876543210"})
    CHECK(cache.has(name));
}
