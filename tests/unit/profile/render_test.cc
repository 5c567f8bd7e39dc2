#include "safelaunch/profile/render.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "catch.h"
#include "safelaunch/base/strings.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

Profile sample() {
  Profile profile;
  profile.name = "p";
  profile.origin = "p.yaml";
  profile.description = "two \"words\"";
  profile.heals = {"shm-small", "no-gpu"};
  profile.cost = Cost::large;
  profile.env["A"] = {"it's $HOME `x`\n\\", {"p.yaml", 3, 4}};
  profile.env["NCCL_TIMEOUT"] = {"1", {"p.yaml", 4, 4}};
  profile.unset = {"B"};
  return profile;
}

std::string output_of_shell(const std::string& script) {
  const std::string command = "sh -c " + shell_quoted(script);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 4096> text{};
  const std::size_t size = fread(text.data(), 1, text.size(), pipe.get());
  return {text.data(), size};
}

}  // namespace

TEST_CASE("exports are read by a shell as they were meant", "[render]") {
  const std::string exports = render_exports(sample());

  CHECK(output_of_shell("B=1\n" + exports + "printf %s \"$A${B-unset}\"") ==
        "it's $HOME `x`\n\\unset");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("'") == "''\\'''");
}

TEST_CASE("exports say what only a run can do", "[render]") {
  Profile profile;
  profile.name = "g";
  CHECK(render_exports(profile).empty());

  profile.backend = Backend::gloo;
  profile.processes = 1;
  CHECK(render_exports(profile) ==
        "# only a run can do this (backend: gloo, processes: 1): safelaunch --profile g COMMAND\n");
}

TEST_CASE(
    "the list marks what is slow, tells what is healed, and where it has what is not built in",
    "[render]") {
  Profile plain;
  plain.name = "plain";
  plain.description = "nothing";
  plain.origin = "profiles/plain.yaml (built in)";
  CHECK(render_profile_list(std::array{sample(), plain}) ==
        "p      large (slow)  two \"words\"\n"
        "                     heals shm-small, no-gpu\n"
        "                     from p.yaml\n"
        "plain  none          nothing\n");
}

TEST_CASE("a check tells of variables that nobody reads", "[render]") {
  const std::string text = render_check(sample());

  CHECK(
      text.starts_with("p.yaml: the profile 'p' is good\nwarning: p.yaml:4:4: "
                       "NCCL_TIMEOUT"));
}

TEST_CASE("a profile is shown as YAML that says everything", "[render]") {
  const std::string text = render_profile(sample());

  CHECK(text.find("description: \"two \\\"words\\\"\"\n") != std::string::npos);
  CHECK(text.find("  A: \"it's $HOME `x`\\n\\\\\"\n") != std::string::npos);
  CHECK(text.find("timeouts: {init: 180s, collective: 180s, quiet: 30s, work: 30min, start: 0s, "
                  "stall: 0s}\n") != std::string::npos);
}

TEST_CASE("a profile as JSON has every key, times in seconds", "[render]") {
  const std::string text = profile_json(sample());

  CHECK(text.starts_with("{\n  \"name\": \"p\",\n  \"description\": \"two \\\"words\\\"\",\n"));
  CHECK(text.find("\"init\": 180.0") != std::string::npos);
  CHECK(text.find("\"processes\": null") != std::string::npos);
  CHECK(profile_list_json({}) == "[]\n");
}
