#include "launcher/cli/verb_run.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::cli;

namespace {

profile::Profile profile(const std::string& name, profile::Cost cost) {
  profile::Profile made;
  made.name = name;
  made.cost = cost;
  made.description = "what " + name + " does";
  return made;
}

const std::vector<profile::Profile> kProfiles{profile("basic", profile::Cost::none),
                                              profile("no-p2p", profile::Cost::medium),
                                              profile("debug", profile::Cost::small)};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the menu shows findings, profiles and what they cost", "[interactive]") {
  const std::vector<Finding> findings{
      {"shm-small", Severity::risk, "/dev/shm has 64 MiB", "docker run --shm-size=8g"}};
  const std::string menu = profile_menu(findings, kProfiles, 2);
  CHECK(has(menu, "shm-small: /dev/shm has 64 MiB"));
  CHECK(has(menu, "docker run --shm-size=8g"));
  CHECK(has(menu, "  2  no-p2p           cost: medium (what no-p2p does)"));
  CHECK(menu.find("others:") > menu.find("no-p2p"));
  CHECK(menu.find("others:") < menu.find("debug"));
  CHECK(has(profile_menu({}, kProfiles, 3), "No problems found on this host."));
}

TEST_CASE("an answer is a number, a name, or nothing for the first", "[interactive]") {
  CHECK(*profile_meant("", kProfiles) == 0);
  CHECK(*profile_meant("2", kProfiles) == 1);
  CHECK(*profile_meant("debug", kProfiles) == 2);
}

TEST_CASE("an answer that is not understood is told with the nearest name", "[interactive]") {
  CHECK(profile_meant("4", kProfiles).error().message == "there is no number 4; 1 to 3");
  CHECK(profile_meant("0", kProfiles).has_error());
  CHECK(has(profile_meant("no-p2", kProfiles).error().message, "did you mean 'no-p2p'?"));
}

TEST_CASE("the run begins with the chosen profile, and keeps the rest of its chain",
          "[interactive]") {
  plan::RunPlan plan;
  plan.chain = {kProfiles[0], kProfiles[1]};
  plan.chain_names = {"basic", "no-p2p"};
  plan.chain_origin = "default";
  begin_with(plan, plan.chain[1]);
  CHECK(plan.chain_names == std::vector<std::string>{"no-p2p", "basic"});
  begin_with(plan, kProfiles[2]);
  CHECK(plan.chain_names == std::vector<std::string>{"debug", "no-p2p", "basic"});
  CHECK(plan.chain.front().name == "debug");
  CHECK(plan.max_attempts == 3);
}
