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

AttemptRecord stalled_in_training() {
  AttemptRecord record = killed_in_training();
  record.command.reset();
  record.ranks.exits.clear();
  record.verdict = Failure{.kind = FailureKind::stalled, .stage = Stage::collective};
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
  run.checkpoints = {{"ckpt/7.pt", RunStory::kLooked - 10min}};
  return run;
}

std::vector<std::vector<std::string>> appended(const RunStory& run) {
  std::vector<std::vector<std::string>> all;
  for (const StartAttempt& one : run.all<StartAttempt>()) all.push_back(one.profile.args.append);
  return all;
}

using Arguments = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("training that was killed starts again from a checkpoint that was not there before",
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
  }
  run.checkpoints["ckpt/8.pt"] = RunStory::kLooked - 5min;
  for (int start = 0; start < 3; ++start) {
    run.ends_with(killed_in_training());
    run.memory_is_back();
  }
  CHECK(run.started().size() == 7);
  run.ends_with(killed_in_training());
  CHECK(run.exit_code() == 137);
  CHECK(run.all<EndRun>().front().stopped_because ==
        "3 starts from ckpt/8.pt brought no new checkpoint");
}

TEST_CASE("a checkpoint of an earlier run is not new, though its date is tomorrow", "[resume]") {
  RunStory run = resuming();
  run.checkpoints = run.checkpoints_at_start = {{"ckpt/9.pt", RunStory::kLooked + 24h}};
  run.begin();
  SECTION("and where there is no other, nothing starts again") {
    run.ends_with(killed_in_training());
    CHECK(run.exit_code() == 137);
    CHECK(run.started().size() == 1);
  }
  SECTION("but one that this run has written is") {
    run.checkpoints["ckpt/7.pt"] = RunStory::kLooked - 10min;
    run.ends_with(killed_in_training());
    run.memory_is_back();
    CHECK(run.started().size() == 2);
  }
}

TEST_CASE("where the disk of the checkpoints does not answer, nothing starts again", "[resume]") {
  RunStory run = resuming();
  run.disk_answers = false;
  run.begin();
  run.ends_with(killed_in_training());
  CHECK(run.started().size() == 1);
  CHECK(run.all<EndRun>().front().stopped_because == "the disk of the checkpoints does not answer");
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

TEST_CASE("what the first profile says of training goes for the one that heals the start",
          "[resume]") {
  RunStory run = resuming();
  run.plan.chain.front().on_stall = profile::OnStall::restart;
  run.plan.chain.front().timeouts.stall = {15min};
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  const profile::Profile healed = run.all<StartAttempt>().back().profile;
  CHECK(healed.name == "gloo-fallback");
  CHECK(healed.on_stall == profile::OnStall::restart);
  CHECK(healed.timeouts.stall.after == 15min);
  run.checkpoints["ckpt/8.pt"] = RunStory::kLooked - 5min;
  run.ends_with(stalled_in_training());
  run.memory_is_back();
  CHECK(run.started() == std::vector<std::string>{"basic", "gloo-fallback", "gloo-fallback"});
  CHECK(appended(run) == Arguments{{}, {}, {"--resume"}});
}

namespace {

RunStory retrying() {
  RunStory run({"basic", "gloo-fallback"});
  run.plan.chain.front().retry = {.times = 2, .backoff = 4s, .factor = 3};
  return run;
}

/// Fails, and waits out the pause: how long it is.
Duration pause_after(const AttemptRecord& record, RunStory& run) {
  const auto started = run.started().size();
  const TimePoint before = run.now();
  run.ends_with(record);
  run.on(MemoryBack{});
  REQUIRE(run.machine().deadline());
  const Duration pause = std::chrono::duration_cast<Duration>(*run.machine().deadline() - before);
  run.on(PauseOver{});
  CHECK(run.started().size() == started);  // that came too early
  run.pass(pause);
  run.on(PauseOver{});
  CHECK(run.started().size() == started + 1);
  return pause;
}

}  // namespace

TEST_CASE("with --only training is started once, whatever its profile says", "[resume]") {
  for (RunStory (*make)() : {resuming, retrying}) {
    RunStory run = make();
    run.plan.options.only = true;
    run.begin();
    run.ends_with(killed_in_training());
    CHECK(run.started().size() == 1);
    REQUIRE(run.all<EndRun>().size() == 1);
    CHECK(run.all<EndRun>().front().stopped_because == "--only: the job is started once");
  }
}

TEST_CASE("training starts again as it was, as often as its profile says, after growing pauses",
          "[retry]") {
  RunStory run = retrying();
  run.begin();
  CHECK(pause_after(killed_in_training(), run) == 4s);
  CHECK(pause_after(stalled_in_training(), run) == 12s);
  CHECK(run.started() == std::vector<std::string>{"basic", "basic", "basic"});
  CHECK(appended(run) == Arguments{{}, {}, {}});
  CHECK(run.asked_for_checkpoints.empty());
  CHECK(run.last_summary().resumes);
  CHECK(run.last_summary().next == "basic: with the same settings in 12s (2 of 2)");
  run.ends_with(killed_in_training());
  CHECK(run.exit_code() == 137);
  CHECK(run.all<EndRun>().front().stopped_because ==
        "2 starts with the same settings did not help");
}

TEST_CASE("a signal during the pause ends the run at once", "[retry]") {
  for (const int signal : {SIGINT, SIGTERM}) {
    RunStory run = retrying();
    run.begin();
    run.ends_with(killed_in_training());
    run.on(MemoryBack{});
    run.signal(signal);
    CHECK(run.exit_code() == 128 + signal);
    CHECK(run.started().size() == 1);
  }
}

TEST_CASE("no training starts again that would only fail again, or that nobody wants to",
          "[resume][retry]") {
  RunStory run = GENERATE(true, false) ? resuming() : retrying();
  profile::Profile& first = run.plan.chain.front();
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
  SECTION("a profile that does not say so") {
    first.resume.reset();
    first.retry.reset();
  }
  SECTION("ranks that nodes start with which this one does not agree") {
    run.plan.spawn.emplace().nodes = 2;
  }
  run.begin();
  run.ends_with(record);
  CHECK(run.exit_code());
  CHECK(run.started().size() == 1);
  CHECK(run.asked_for_checkpoints.size() <= 1);  // at the start
}

TEST_CASE("the limit on attempts is the reason why a training does not start again",
          "[resume][retry]") {
  RunStory run = GENERATE(true, false) ? resuming() : retrying();
  run.plan.options.max_attempts = 1;
  run.begin();
  run.ends_with(killed_in_training());
  CHECK(run.all<EndRun>().front().stopped_because == "1 attempt was made");
}

TEST_CASE("the leader of several nodes decides for all, and a member waits for its word",
          "[retry]") {
  AgreeingRun leader;
  leader.plan.chain.front().retry = {.times = 1, .backoff = 4s, .factor = 2};
  leader.lead();
  leader.agree(1, "basic");
  leader.ends_with(killed_in_training());
  leader.memory_is_back();
  CHECK(leader.proposed() == std::vector<std::string>{"1 basic", "2 basic"});
  leader.agree(2, "basic");
  leader.ends_with(killed_in_training());
  CHECK(leader.all<ProposeEnd>().front().exit_code == 137);

  AgreeingRun member;
  member.plan.chain.front().retry = {.times = 1, .backoff = 4s, .factor = 2};
  member.begin_alone();
  member.agree(1, "basic");
  member.ends_with(killed_in_training());
  CHECK_FALSE(member.did<AwaitGpuMemory>());
  member.agree(2, "basic");
  CHECK(member.started() == std::vector<std::string>{"basic", "basic"});
}

namespace {

AgreeingRun resuming_with_others() {
  AgreeingRun run;
  run.plan.chain.front().resume = {.newer = "", .marker = "ckpt/*.pt", .append = {"--resume"}};
  run.checkpoints = {{"ckpt/7.pt", RunStory::kLooked - 10min}};
  return run;
}

/// Its training is killed, and the nodes agree on a second attempt from that checkpoint.
void fails_and_goes_on(AgreeingRun& run) {
  run.agree(1, "basic");
  run.ends_with(killed_in_training());
  run.memory_is_back();
  run.agree(2, "basic", "ckpt/7.pt");
}

}  // namespace

TEST_CASE("the leader names the checkpoint from which all nodes go on", "[resume]") {
  AgreeingRun leader = resuming_with_others();
  leader.lead();
  fails_and_goes_on(leader);
  CHECK(leader.all<ProposeAttempt>().back().checkpoint == "ckpt/7.pt");
  CHECK(appended(leader) == Arguments{{}, {"--resume"}});
  leader.ends_with(hung_in(Stage::group));  // what heals it begins from there, too
  leader.memory_is_back();
  CHECK(leader.all<ProposeAttempt>().back().checkpoint == "ckpt/7.pt");

  AgreeingRun member = resuming_with_others();
  member.begin_alone();
  fails_and_goes_on(member);
  CHECK(appended(member) == Arguments{{}, {"--resume"}});
}

TEST_CASE("where the leader itself cannot go on from the checkpoint, the run ends", "[resume]") {
  AgreeingRun leader = resuming_with_others();
  leader.lead();
  leader.agree(1, "basic");
  leader.ends_with(killed_in_training());
  leader.memory_is_back();
  leader.disk_answers = false;  // it did while the checkpoint was looked for
  leader.agree(2, "basic", "ckpt/7.pt");
  CHECK(leader.all<TellNotStarted>().size() == 1);
  CHECK(leader.all<ProposeEnd>().front().exit_code == 78);
}

TEST_CASE("a leader that has come anew begins with no checkpoint, and so do all", "[resume]") {
  AgreeingRun member = resuming_with_others();
  member.begin_alone();
  fails_and_goes_on(member);
  member.ends_with(killed_in_training());
  member.agree(1, "basic");
  CHECK(appended(member) == Arguments{{}, {"--resume"}, {}});
}

TEST_CASE("a node that does not see the checkpoint, or does not know how, starts nothing",
          "[resume]") {
  AgreeingRun member = resuming_with_others();
  std::string why = "the nodes agreed to go on from ckpt/7.pt, but ";
  SECTION("another disk") {
    member.checkpoints.clear();
    why += "it is not here: the checkpoints must lie on a disk that all nodes see";
  }
  SECTION("a disk that hangs") {
    member.disk_answers = false;
    why +=
        "this node's disk does not answer: the checkpoints must lie on a disk that all nodes see";
  }
  SECTION("a profile that is another here") {
    member.plan.chain.front().resume.reset();
    why += "profile basic of this node does not say how (resume): copy its file here";
  }
  member.begin_alone();
  fails_and_goes_on(member);
  CHECK(member.started() == std::vector<std::string>{"basic"});
  CHECK(member.all<TellNotStarted>().front().error.message == why);
}

TEST_CASE("a signal during the pause of several nodes goes to all of them at once", "[retry]") {
  AgreeingRun run;
  run.plan.chain.front().retry = {.times = 1, .backoff = 4s, .factor = 2};
  run.lead();
  run.agree(1, "basic");
  run.ends_with(killed_in_training());
  run.on(MemoryBack{});
  REQUIRE(run.machine().deadline());
  run.signal(SIGTERM);
  CHECK(run.did<TellSignal>());
  run.on(EndAgreed{128 + SIGTERM, "a signal"});
  CHECK(run.exit_code() == 128 + SIGTERM);
  CHECK(run.started().size() == 1);
}
