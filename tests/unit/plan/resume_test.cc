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

constexpr std::filesystem::file_time_type kWritten{1h};
const Checkpoint k7{"ckpt/7", 10min, kWritten};
const Checkpoint k8{"ckpt/8", 10min, kWritten + 1min};

NextStep step_after(const FailedTraining& training,
                    const profile::Resume& resume = {"ckpt/*", "", {}}) {
  return resume_step(plain_basic(), resume, training);
}

}  // namespace

TEST_CASE("the newest checkpoint is a file, or a folder that is as new as its newest file",
          "[resume]") {
  const testing::TemporaryFolder folder;
  const std::string pattern = folder / "ckpt/*";
  CHECK_FALSE(newest_checkpoint(pattern));

  write_checkpoint(folder / "ckpt/step1.pt", 300s);
  write_checkpoint(folder / "ckpt/step2.pt", 200s);
  CHECK(newest_checkpoint(pattern)->path.ends_with("ckpt/step2.pt"));
  CHECK(newest_checkpoint(pattern)->age >= 199s);

  write_checkpoint(folder / "ckpt/global_step3/rank/model.pt", 100s);
  CHECK(newest_checkpoint(pattern)->path.ends_with("ckpt/global_step3"));

  write_checkpoint(folder / "ckpt/step4.pt", 1s, "");
  CHECK(newest_checkpoint(pattern)->path.ends_with("ckpt/global_step3"));
}

TEST_CASE(
    "training starts from a checkpoint of its own attempt at once, and from the same again "
    "after pauses",
    "[resume]") {
  const NextStep first = step_after({0s, k7, {}, {}});
  REQUIRE(first.profile);
  CHECK(first.resumes);
  CHECK(first.wait == 0s);
  CHECK(first.why == "from ckpt/7, written 10min ago");

  CHECK(step_after({0s, k7, k7, 1}).wait == 10s);
  CHECK(step_after({0s, k7, k7, 2}).wait == 20s);
  CHECK(step_after({0s, k8, k7, 2}).wait == 0s);
  profile::Profile patient = plain_basic();
  patient.restarts = 1000;
  CHECK(resume_step(patient, {"ckpt/*", "", {}}, {0s, k7, k7, 999}).wait == 10min);
}

TEST_CASE("training does not start from a checkpoint that proves nothing", "[resume]") {
  const auto why = [](const FailedTraining& training) {
    const NextStep step = step_after(training);
    CHECK_FALSE(step.profile);
    return step.why;
  };
  CHECK(why({0s, {}, {}, {}}) == "no checkpoint is there (ckpt/*)");
  CHECK(why({0s, k7, k7, {}}) ==
        "no checkpoint was finished since the start; the newest, ckpt/7, is 10min old");
  CHECK(why({0s, k7, k7, 3}) == "3 starts from ckpt/7 brought no new checkpoint");
}

TEST_CASE("a checkpoint is new beside the one before, whatever our own clock says", "[resume]") {
  const auto is_new = [](Checkpoint newest, Checkpoint before) {
    return has_new_checkpoint({0s, std::move(newest), std::move(before), {}});
  };
  CHECK(is_new({"ckpt/7", 10min, kWritten + 1s}, k7));  // written anew
  CHECK(is_new(k8, k7));
  CHECK(is_new({"ckpt/8", 10min, kWritten}, k7));  // its date has whole seconds
  CHECK_FALSE(is_new(k7, k7));
  CHECK_FALSE(is_new({"ckpt/7", 0s, kWritten}, k7));  // its date lies ahead of us
  CHECK_FALSE(is_new(k7, k8));                        // the newer one was removed
}

TEST_CASE(
    "a checkpoint that was written when training failed may be cut off, unless a marker says "
    "that it is whole",
    "[resume]") {
  const FailedTraining hung{20min, Checkpoint{"ckpt/7", 20min + 3s, {}}, {}, {}};
  CHECK_FALSE(step_after(hung).profile);
  CHECK(step_after(hung, {"", "ckpt/latest", {}}).profile);
  CHECK(step_after({20min, Checkpoint{"ckpt/7", 20min + 6s, {}}, {}, {}}).profile);
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
