#include "launcher/run/run_ledger.h"

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::plan;
using namespace safelaunch::run;
using safelaunch::testing::TemporaryFolder;

namespace {

profile::Profile some_profile() {
  profile::Profile profile;
  profile.name = "gloo-fallback";
  profile.cost = profile::Cost::large;
  return profile;
}

/// A user on this host, who has run something.
struct Remembering {
  TemporaryFolder home;
  RunPlan plan;

  Remembering() {
    plan.environment = {{"XDG_STATE_HOME", home / "state"}};
    const std::filesystem::path file = profile::memory_file(plan.environment);
    std::filesystem::create_directories(file.parent_path());
    plan.command.argv = {"train.py"};
  }
  [[nodiscard]] bool remembers() const {
    return !profile::load_memory(profile::memory_file(plan.environment)).empty();
  }
};

}  // namespace

TEST_CASE("a cost is told with what a profile gives up", "[records]") {
  profile::Profile profile = some_profile();
  CHECK(cost_in_words(profile) == "large");
  profile.description = "gloo over TCP";
  CHECK(cost_in_words(profile) == "large (gloo over TCP)");
}

TEST_CASE("what worked at once is not worth remembering", "[records]") {
  Remembering user;
  remember_success(user.plan, some_profile(), 1, Probed::no);
  CHECK_FALSE(user.remembers());
}

TEST_CASE(
    "what worked after a failure, or after a probe, is remembered until it is to be forgotten",
    "[records]") {
  Remembering user;
  const bool probed = GENERATE(true, false);
  remember_success(user.plan, some_profile(), probed ? 1 : 2, probed ? Probed::yes : Probed::no);
  CHECK(user.remembers());
  user.plan.options.forget = true;
  remember_success(user.plan, some_profile(), 1, Probed::no);
  CHECK_FALSE(user.remembers());
}

TEST_CASE("a profile of large cost that one script needed is remembered for that script alone",
          "[records]") {
  Remembering user;
  remember_success(user.plan, some_profile(), 2, Probed::no);  // its cost is large
  const auto memory = profile::load_memory(profile::memory_file(user.plan.environment));
  REQUIRE(memory.size() == 1);
  CHECK(memory[0].job == job_of(user.plan));
  CHECK(memory[0].job.ends_with("/train.py"));
}
