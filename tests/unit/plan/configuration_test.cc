#include "catch.h"
#include "safelaunch/plan/plan.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::TemporaryFolder;

namespace {

constexpr const char* kFile = R"(chain: [basic, no-shm]
options: {init-timeout: 60s, port: auto}
clusters:
  - name: lab
    match: {env: {SITE: lab}}
    chain: no-nvls
    options: {port: keep}
  - name: by-hand
    env: {D: hand}
)";

/// The configuration of a user with this file, read by --config.
Result<Configuration> read(const std::string& cluster, Environment environment) {
  const TemporaryFolder folder;
  environment.try_emplace("HOME", "/proc/nonexistent");
  return read_configuration(folder.write("s.yaml", kFile), cluster, environment);
}

}  // namespace

TEST_CASE("without a matching rule the file alone holds", "[configuration]") {
  const auto made = read("", {});
  REQUIRE(made.has_value());
  CHECK(made->cluster.empty());
  CHECK(made->rules.chain == std::vector<std::string>{"basic", "no-shm"});
  CHECK(made->settings.at("port").value == "auto");
}

TEST_CASE("the rule of this cluster comes before the file", "[configuration]") {
  const auto made = read("", {{"SITE", "lab"}});
  REQUIRE(made.has_value());
  CHECK(made->cluster == "lab");
  CHECK(made->rules.chain == std::vector<std::string>{"no-nvls"});
  CHECK(made->settings.at("port").value == "keep");
  CHECK(made->settings.at("init-timeout").value == "60s");
}

TEST_CASE("a variable of the environment comes before rule and file", "[configuration]") {
  const auto made = read("", {{"SITE", "lab"}, {"SAFELAUNCH_PORT", "auto"}});
  REQUIRE(made.has_value());
  CHECK(made->settings.at("port").value == "auto");
}

TEST_CASE("the option --cluster chooses a rule that matches nothing by itself", "[configuration]") {
  const auto made = read("by-hand", {{"SITE", "lab"}});
  REQUIRE(made.has_value());
  CHECK(made->cluster == "by-hand");
  CHECK(read("nowhere", {}).has_error());
}

TEST_CASE("SAFELAUNCH_CLUSTER chooses a rule as --cluster does, which beats it",
          "[configuration]") {
  const Environment by_hand{{"SITE", "lab"}, {"SAFELAUNCH_CLUSTER", "by-hand"}};
  CHECK(read("", by_hand).value().cluster == "by-hand");
  CHECK(read("lab", by_hand).value().cluster == "lab");
  CHECK(read("", {{"SITE", "lab"}, {"SAFELAUNCH_CLUSTER", ""}}).value().cluster == "lab");
  const auto wrong = read("", {{"SAFELAUNCH_CLUSTER", "by-hnad"}});
  REQUIRE(wrong.has_error());
  CHECK_THAT(wrong.error().message, ContainsSubstring("SAFELAUNCH_CLUSTER: ") &&
                                        ContainsSubstring("did you mean 'by-hand'?"));
}

TEST_CASE("a misspelt variable is a warning, and changes nothing", "[configuration]") {
  const auto made = read("", {{"SAFELAUNCH_PROFIL", "basic"}});
  REQUIRE(made.has_value());
  REQUIRE(made->warnings.size() == 1);
  CHECK_THAT(made->warnings.front(), ContainsSubstring("SAFELAUNCH_PROFILE"));
}

TEST_CASE("a file that --config names and that is not there is an error", "[configuration]") {
  CHECK(read_configuration("/no/such/file.yaml", "", {}).has_error());
}

TEST_CASE("a mistyped cause of a profile is told before the run, with its place",
          "[configuration]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("cure.yaml", "heals: [shm-small, shm-smal]\n");
  settings::RunOptions options;
  options.command = {"python3", "x.py"};
  options.profiles = {file};
  const auto plan = make_plan(options, {}, {{"HOME", "/proc/nonexistent"}});
  REQUIRE(plan.has_value());
  CHECK_THAT(plan->warnings, Catch::Matchers::VectorContains(
                                 file + ":1:20: heals: there is no cause 'shm-smal'; did you "
                                        "mean 'shm-small'?"));
}
