#include "run_story.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace safelaunch::run;
using namespace std::chrono_literals;

namespace {

constexpr Duration kRan = 1h;

AttemptRecord killed_in_training() {
  AttemptRecord record;
  record.command = Exited{1};
  record.training = true;
  record.took = kRan;
  record.ranks.world_size = 2;
  record.ranks.backends = {"nccl"};
  record.ranks.exits = {{Rank{1}, {}, Signaled{SIGKILL}}};
  Failure verdict{.kind = FailureKind::rank_died, .stage = Stage::collective};
  verdict.missing = {{.rank = Rank{1}, .status = Signaled{SIGKILL}}};
  record.verdict = verdict;
  return record;
}

AttemptRecord raised_in_training() {
  AttemptRecord record = script_failed();
  record.training = true;
  return record;
}

RunStory resuming() {
  RunStory run({"basic", "gloo-fallback"});
  run.plan.chain.front().resume = {.newer = "ckpt/*.pt", .marker = "", .append = {"--resume"}};
  run.newest = {"ckpt/7.pt", 10min};
  return run;
}

std::vector<std::vector<std::string>> appended(const RunStory& run) {
  std::vector<std::vector<std::string>> all;
  for (const StartAttempt& one : run.all<StartAttempt>()) all.push_back(one.profile.args.append);
  return all;
}

using Arguments = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("training that was killed starts again from a checkpoint that is newer than its start",
          "[resume]") {
  RunStory run = resuming();
  run.begin();
  run.ends_with(killed_in_training());
  run.memory_is_back();
  CHECK(appended(run) == Arguments{{}, {"--resume"}});
  CHECK(run.asked_for_checkpoints == std::vector<std::string>{"ckpt/*.pt"});
  run.ends_with(went_well_record());
  CHECK(run.exit_code() == 0);
}

TEST_CASE("training starts three times from one checkpoint, and as often from each new one",
          "[resume]") {
  RunStory run = resuming();
  run.begin();
  for (int start = 0; start < 3; ++start) {
    run.ends_with(killed_in_training());
    run.memory_is_back();
    run.newest = {"ckpt/7.pt", 10h};
  }
  run.newest = {"ckpt/8.pt", 10min};
  for (int start = 0; start < 3; ++start) {
    run.ends_with(killed_in_training());
    run.memory_is_back();
    run.newest = {"ckpt/8.pt", 10h};
  }
  CHECK(run.started().size() == 7);
  run.ends_with(killed_in_training());
  CHECK(run.exit_code() == 137);
  CHECK(run.all<EndRun>().front().stopped_because ==
        "3 starts from ckpt/8.pt brought no new checkpoint");
}

TEST_CASE("an attempt with other settings begins from the checkpoint too, once one has",
          "[resume]") {
  RunStory run = resuming();
  run.begin();
  run.ends_with(killed_in_training());
  run.memory_is_back();
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  CHECK(run.started() == std::vector<std::string>{"basic", "basic", "gloo-fallback"});
  CHECK(appended(run) == Arguments{{}, {"--resume"}, {"--resume"}});
}

TEST_CASE("no training starts again that would only fail again, or that nobody wants to",
          "[resume]") {
  RunStory run = resuming();
  AttemptRecord record = killed_in_training();
  SECTION("the script's own exception") {
    record = raised_in_training();
  }
  SECTION("the user's limit on attempts") {
    run.plan.options.max_attempts = 1;
  }
  SECTION("a scheduler that has warned of the end") {
    run.begin();
    run.signal(SIGUSR1);
    run.ends_with(record);
    CHECK(run.exit_code());
    CHECK(run.started().size() == 1);
    return;
  }
  SECTION("a profile without resume") {
    run.plan.chain.front().resume.reset();
  }
  run.begin();
  run.ends_with(record);
  CHECK(run.exit_code());
  CHECK(run.started().size() == 1);
  CHECK(run.asked_for_checkpoints.empty());
}
