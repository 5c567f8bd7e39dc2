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

TEST_CASE("the whole menu is findings, a blank line, and a row for each profile", "[interactive]") {
  const std::vector<Finding> findings{
      {"shm-small", Severity::risk, "/dev/shm has 64 MiB", "docker run --shm-size=8g"},
      {"port-taken", Severity::blocks, "port 29500 is taken", "take another"}};
  CHECK(profile_menu(findings, kProfiles, 1) ==
        "risk      shm-small: /dev/shm has 64 MiB\n"
        "          docker run --shm-size=8g\n"
        "blocks    port-taken: port 29500 is taken\n"
        "          take another\n"
        "\n"
        "  1  basic            cost: none (what basic does)\n"
        "others:\n"
        "  2  no-p2p           cost: medium (what no-p2p does)\n"
        "  3  debug            cost: small (what debug does)\n");
}

TEST_CASE("an answer of digits is a number, however large", "[interactive]") {
  CHECK(*profile_meant("3", kProfiles) == 2);
  CHECK(*profile_meant("001", kProfiles) == 0);
  CHECK(profile_meant("99999999999999999999999", kProfiles).has_error());
  CHECK(profile_meant("-1", kProfiles).error().message ==
        "there is no profile '-1'; type a number, a name or q");
  CHECK(profile_meant("basic ", kProfiles).error().message ==
        "there is no profile 'basic '; did you mean 'basic'?; type a number, a name or q");
}

TEST_CASE("a chain that the user has bounded keeps its number of attempts", "[interactive]") {
  for (const bool only : {false, true}) {
    plan::RunPlan plan;
    plan.chain = {kProfiles[0]};
    plan.chain_names = {"basic"};
    plan.chain_origin = "default";
    plan.options.only = only;
    if (!only) plan.options.max_attempts = 1;
    begin_with(plan, kProfiles[1]);
    CHECK(plan.max_attempts == 1);
    CHECK(plan.chain_names == std::vector<std::string>{"no-p2p", "basic"});
    CHECK(plan.chain_origin == "your choice, then default");
  }
}
