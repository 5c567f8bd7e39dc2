#include "safelaunch/plan/resume.h"

#include <filesystem>
#include <fstream>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace std::chrono_literals;

namespace {

void write_checkpoint(const std::filesystem::path& file, std::chrono::seconds age,
                      const char* text = "x") {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - age);
}

profile::Profile plain_basic() {
  profile::Profile profile;
  profile.name = "basic";
  return profile;
}

constexpr std::filesystem::file_time_type kNow{10h};

/// That were there before, and that are there ten minutes after the last was written.
CheckpointsSeen seen(const Checkpoints& before, const Checkpoints& now) {
  return {before, now, kNow};
}

const Checkpoints k7{{"ckpt/7", kNow - 10min}};
const Checkpoints k7And8{{"ckpt/7", kNow - 10min}, {"ckpt/8", kNow - 5min}};

NextStep step_after(const FailedTraining& training,
                    const profile::Resume& resume = {"ckpt/*", "", {}}) {
  return resume_step(plain_basic(), resume, training);
}

}  // namespace

TEST_CASE("a checkpoint is a file, or a folder that is as new as its newest file", "[resume]") {
  const testing::TemporaryFolder folder;
  const std::string pattern = folder / "ckpt/*";
  CHECK(find_checkpoints(pattern).empty());

  write_checkpoint(folder / "ckpt/step2.pt", 200s);
  write_checkpoint(folder / "ckpt/global_step3/rank/model.pt", 100s);
  write_checkpoint(folder / "ckpt/step4.pt", 1s, "");  // which is empty
  const Checkpoints found = find_checkpoints(pattern);
  REQUIRE(found.size() == 2);
  CHECK(found.at(folder / "ckpt/global_step3") - found.at(folder / "ckpt/step2.pt") > 99s);
}

TEST_CASE(
    "training starts from a checkpoint of its own attempt at once, and from the same again "
    "after pauses",
    "[resume]") {
  const NextStep first = step_after({0s, seen({}, k7), {}});
  REQUIRE(first.profile);
  CHECK(first.resumes);
  CHECK(first.wait == 0s);
  CHECK(first.why == "from ckpt/7, written 10min ago");

  CHECK(step_after({0s, seen(k7, k7), 1}).wait == 10s);
  CHECK(step_after({0s, seen(k7, k7), 2}).wait == 20s);
  CHECK(step_after({0s, seen(k7, k7And8), 2}).wait == 0s);
  profile::Profile patient = plain_basic();
  patient.restarts = 1000;
  CHECK(resume_step(patient, {"ckpt/*", "", {}}, {0s, seen(k7, k7), 999}).wait == 10min);
}

TEST_CASE("training does not start from a checkpoint that proves nothing", "[resume]") {
  const auto why = [](const FailedTraining& training) {
    const NextStep step = step_after(training);
    CHECK_FALSE(step.profile);
    return step.why;
  };
  CHECK(why({0s, {}, {}}) == "the disk of the checkpoints does not answer");
  CHECK(why({0s, seen({}, {}), {}}) == "no checkpoint is there (ckpt/*)");
  CHECK(why({0s, seen(k7, k7), {}}) ==
        "no checkpoint was finished since the start; the newest, ckpt/7, is 10min old");
  CHECK(why({0s, seen(k7, k7), 3}) == "3 starts from ckpt/7 brought no new checkpoint");
}

TEST_CASE("a checkpoint is new that was not there, or had another date", "[resume]") {
  const auto is_new = [](const Checkpoints& before, const Checkpoints& now) {
    return has_new_checkpoint({0s, seen(before, now), {}});
  };
  CHECK(is_new(k7, {{"ckpt/7", kNow - 1min}}));
  CHECK(is_new(k7, k7And8));
  CHECK_FALSE(is_new(k7, k7));
  CHECK_FALSE(is_new(k7And8, k7));  // the newer one was removed
  const Checkpoints ahead{{"ckpt/9", kNow + 24h}};
  CHECK_FALSE(is_new(ahead, ahead));
  CHECK(step_after({0s, seen(ahead, {{"ckpt/7", kNow - 10min}, *ahead.begin()}), {}}).why ==
        "from ckpt/7, written 10min ago");
}

TEST_CASE("of checkpoints of one moment the later in the order of numbers is the newest",
          "[resume]") {
  const auto at = kNow - 10min;
  const Checkpoints three{{"step10.pt", at}, {"step100.pt", at}, {"step9.pt", at - 1s}};
  CHECK(step_after({0s, seen({}, three), {}}).why == "from step100.pt, written 10min ago");
}

TEST_CASE(
    "a checkpoint that was written when training failed may be cut off, unless a marker says "
    "that it is whole",
    "[resume]") {
  const FailedTraining hung{20min, seen({}, {{"ckpt/7", kNow - 20min - 3s}}), {}};
  CHECK_FALSE(step_after(hung).profile);
  CHECK(step_after(hung, {"", "ckpt/latest", {}}).profile);
  CHECK(step_after({20min, seen({}, {{"ckpt/7", kNow - 20min - 6s}}), {}}).profile);
}

TEST_CASE("the script's arguments for a checkpoint come behind those of the profile", "[resume]") {
  profile::Profile profile = plain_basic();
  profile.args.append = {"--fast"};
  CHECK(resumed(profile, {"", "ckpt/latest", {"--resume", "ckpt"}}).args.append ==
        std::vector<std::string>{"--fast", "--resume", "ckpt"});
}

TEST_CASE("the pauses of a retry grow up to ten minutes, or to a first one that is longer",
          "[retry]") {
  profile::Profile profile = plain_basic();
  profile.retry = profile::Retry{};
  CHECK(retry_step(profile, 0).wait == 10s);
  CHECK(retry_step(profile, 4).wait == 160s);
  CHECK_FALSE(retry_step(profile, 5).profile);
  CHECK(retry_step(profile, 5).why == "5 starts with the same settings did not help");
  profile.retry = {.times = 1000, .backoff = 1h, .factor = 1000};
  CHECK(retry_step(profile, 999).wait == 1h);
  profile.retry = {.times = 1000, .backoff = 1ms, .factor = 1000};
  CHECK(retry_step(profile, 999).wait == 10min);
  profile.retry = {.times = 9, .backoff = 0s, .factor = 2};
  CHECK(retry_step(profile, 8).wait == 0s);
}

TEST_CASE("other nodes see a checkpoint when it is a minute old", "[resume]") {
  FailedTraining training{0s, seen({}, {{"ckpt/9", kNow - 20s}}), {}, 1min};
  const NextStep step = step_after(training, {"", "ckpt/*", {}});
  CHECK(step.wait == 40s);
  CHECK(step.why == "from ckpt/9, written 20s ago; in 40s, since other nodes may not see it yet");
  training.checkpoints->now = k7;
  CHECK(step_after(training).wait == 0s);
}

TEST_CASE("a profile is not tried for training rules that it inherits", "[resume]") {
  RunPlan plan;
  profile::Profile first = plain_basic();
  first.timeouts.stall = {15min};
  first.retry = profile::Retry{};
  plan.chain = {first, plain_basic()};
  plan.chain.back().name = "copy";
  plan.chain_names = {"basic", "copy"};
  plan.options.profiles = {"basic", "copy"};
  const std::vector<const profile::Profile*> tried{&plan.chain.front()};
  const std::vector<const profile::Profile*> others{&plan.chain.back()};
  CHECK(same_as_tried(plan, tried, others, {}).size() == 1);
}

TEST_CASE("a later profile keeps what it says of training itself", "[resume]") {
  profile::Profile first = plain_basic();
  first.timeouts.stall = {15min};
  first.on_stall = profile::OnStall::restart;
  first.retry = profile::Retry{};
  first.restarts = 7;
  const profile::Profile healing = with_training_of(first, plain_basic());
  CHECK(healing.retry == first.retry);
  CHECK(healing.restarts == 7);
  profile::Profile own = plain_basic();
  own.timeouts.stall = {20min};
  const profile::Profile kept = with_training_of(first, own);
  CHECK(kept.timeouts.stall.after == 20min);
  CHECK(kept.on_stall == profile::OnStall::report);
  CHECK_FALSE(kept.retry);
}
