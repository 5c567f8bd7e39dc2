#include "launcher/run/run_ledger.h"

#include <fstream>
#include <future>
#include <iterator>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::run;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::TemporaryFolder;

namespace {

/// The record of a run below a folder of the test's own.
struct Kept {
  TemporaryFolder folder;
  DiskQueue disk;
  RunLedger ledger{disk, Clock::now()};
  RunPlan plan;

  Kept() {
    plan.environment = {{"XDG_STATE_HOME", folder / "state"}};
    plan.options.command = {"torchrun", "train.py"};
    plan.chain_names = {"basic"};
  }
  [[nodiscard]] std::string text(const std::string& file) {
    REQUIRE(disk.drain(60s));
    std::ifstream in(ledger.directory() / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

}  // namespace

TEST_CASE("a run is recorded from its beginning to its end", "[run_ledger]") {
  Kept run;
  REQUIRE(run.ledger.open(run.plan).has_value());
  CHECK(run.ledger.trouble().empty());
  run.ledger.note({"shm-small", Severity::risk, "64 MiB", "more"});
  report::AttemptSummary attempt;
  attempt.profile = "basic";
  run.ledger.add(attempt);
  run.ledger.close(3, "1 attempt was made");
  const std::string events = run.text("events.jsonl");
  CHECK_THAT(events, ContainsSubstring("\"e\":\"run\"") && ContainsSubstring("\"e\":\"finding\""));
  CHECK_THAT(events, ContainsSubstring("\"e\":\"end\""));
  const auto outcome = report::read_outcome(run.text("outcome.json"));
  REQUIRE(outcome.has_value());
  CHECK(outcome->exit_code == 3);
  CHECK(outcome->attempts.size() == 1);
  CHECK_THAT(run.text("job.json"), ContainsSubstring(run.ledger.run_id()));
}

TEST_CASE("no secret of the command stands in the record", "[run_ledger]") {
  Kept run;
  run.plan.options.command = {"torchrun", "train.py", "--token", "hunter2hunter2"};
  REQUIRE(run.ledger.open(run.plan).has_value());
  run.ledger.close(0, {});
  for (const char* file : {"events.jsonl", "outcome.json", "job.json"})
    CHECK_THAT(run.text(file), !ContainsSubstring("hunter2hunter2"));
}

TEST_CASE("a folder that the user names and that cannot be made is an error", "[run_ledger]") {
  Kept run;
  run.plan.options.run_dir = run.folder.write("a-file", "") + "/below";
  CHECK_FALSE(run.ledger.open(run.plan).has_value());
}

TEST_CASE("a run whose disk does not answer is not recorded, and goes on", "[run_ledger]") {
  Kept run;
  std::promise<void> thaw;
  REQUIRE(run.disk.post(0, [frozen = thaw.get_future().share()] { frozen.wait(); }));
  REQUIRE(run.ledger.open(run.plan).has_value());
  CHECK_THAT(run.ledger.trouble(), ContainsSubstring("does not answer"));
  CHECK(run.ledger.directory().empty());
  run.plan.environment.clear();  // what is still to be done for us has values of its own
  run.plan.options.run_dir = run.folder / "elsewhere";
  thaw.set_value();
  REQUIRE(run.disk.drain(60s));
  CHECK(std::filesystem::exists(run.folder / "state"));
}
