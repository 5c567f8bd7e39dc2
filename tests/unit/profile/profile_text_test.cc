#include "safelaunch/profile/profile_text.h"

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
                  "stall: auto}\n") != std::string::npos);
}

TEST_CASE("a profile as JSON has every key, times in seconds", "[render]") {
  const std::string text = profile_json(sample());

  CHECK(text.starts_with("{\n  \"name\": \"p\",\n  \"description\": \"two \\\"words\\\"\",\n"));
  CHECK(text.find("\"init\": 180.0") != std::string::npos);
  CHECK(text.find("\"processes\": null") != std::string::npos);
  CHECK(profile_list_json({}) == "[]\n");
}

namespace {

// The output of `profiles show`, read as a file of its own.
Profile read_back(const Profile& profile) {
  return read_profile({profile.name, profile.origin, render_profile(profile)}, {}).value();
}

Profile rich() {
  return read_profile({"rich", "rich.yaml", R"(
description: "tabs\tand \"quotes\" and \\ and \n lines: {#}"
heals: [shm-small]
worsens: [nvls-bind, no-gpu]
cost: medium
nodes: one
env: {A: "", B: "null", C: "~", D: "yes", E: " x ", F: "[a]", G: "1e3"}
unset: [H, I]
force: [A, H]
backend: gloo
verify: inject
ras: ask
process_group_timeout: 90s
timeouts: {init: 1500ms, collective: 2h, quiet: off, work: 12min, start: 7d, stall: 61s}
on_stall: kill
processes: [8, 4]
args: {append: ["--a b", "-1", ""], replace: {--x: "1", --y: ~, "-z": ""}}
python: {faulthandler: true}
options: {grace: 5s, port: 20000-25000, no-hook: true}
)"},
                      {})
      .value();
}

// All but places, which are others in another text.
Profile without_places(Profile profile) {
  for (auto& [name, setting] : profile.env) setting.place = {};
  for (auto& [name, setting] : profile.options) setting.origin.clear();
  return profile;
}

}  // namespace

TEST_CASE("a profile that is shown reads back as the same, whatever it says", "[render]") {
  Profile plain;
  plain.name = "plain";
  plain.origin = "plain.yaml";
  Profile all = sample();
  all.heals.clear();
  all.force_all = true;
  Profile null = plain;
  null.name = "Null";
  Profile resumes = plain;
  resumes.on_stall = OnStall::restart;
  resumes.restarts = 5;
  resumes.resume = {.newer = "ckpt/*.pt", .marker = "", .append = {"--resume", "la'st"}};
  Profile marked = resumes;
  marked.resume = {.newer = "", .marker = "ckpt/latest", .append = {}};
  Profile retries = plain;
  retries.retry = {.times = 7, .backoff = std::chrono::seconds(90), .factor = 3};
  for (const Profile& profile : {plain, rich(), all, null, resumes, marked, retries}) {
    INFO(profile.name);
    const Profile again = without_places(read_back(profile));
    const Profile wanted = without_places(profile);
    CHECK(profile_json(again) == profile_json(wanted));
    CHECK(again.ladder == wanted.ladder);
    CHECK(again.args == wanted.args);
    CHECK(again.timeouts == wanted.timeouts);
    CHECK(again.resume == wanted.resume);
    CHECK(again.retry == wanted.retry);
    CHECK(again.options == wanted.options);
  }
}

TEST_CASE("the JSON of a profile in whole", "[render]") {
  Profile profile = rich();
  profile.env = {{"A", {"1", {}}}};
  profile.description = "d";
  profile.args.append = {"--a"};
  profile.args.replace = {{"--x", "1"}, {"--y", std::nullopt}};
  CHECK(profile_json(profile) == R"({
  "name": "rich",
  "description": "d",
  "origin": "rich.yaml",
  "extends": null,
  "heals": [
    "shm-small"
  ],
  "worsens": [
    "nvls-bind",
    "no-gpu"
  ],
  "cost": "medium",
  "nodes": "one",
  "env": {
    "A": "1"
  },
  "unset": [
    "H",
    "I"
  ],
  "force": [
    "A",
    "H"
  ],
  "backend": "gloo",
  "verify": "inject",
  "ras": "ask",
  "process_group_timeout": 90.0,
  "timeouts": {
    "init": 1.5,
    "collective": 7200.0,
    "quiet": 0.0,
    "work": 720.0,
    "start": 604800.0,
    "stall": 61.0
  },
  "on_stall": "kill",
  "processes": [
    8,
    4
  ],
  "args": {
    "append": [
      "--a"
    ],
    "replace": {
      "--x": "1",
      "--y": null
    }
  },
  "python": {
    "faulthandler": true
  },
  "options": {
    "grace": "5s",
    "no-hook": "true",
    "port": "20000-25000"
  }
}
)");
}

TEST_CASE("exports name each key that only a run can do", "[render]") {
  Profile profile = rich();
  profile.env = {{"A", {"it's", {}}}};
  profile.unset = {"B"};
  CHECK(render_exports(profile) ==
        "# only a run can do this (backend: gloo, processes: [8, 4], process_group_timeout, "
        "verify: inject, ras: ask, args): safelaunch --profile rich COMMAND\n"
        "export A='it'\\''s'\n"
        "unset B\n");
}

TEST_CASE("secrets are taken out of all that is shown, and stay in what a shell evaluates",
          "[render]") {
  Profile profile = sample();
  profile.env["HF_TOKEN"] = {"canary-1", {}};
  profile.args.append = {"--api-key", "canary-2", "--token=canary-3"};
  profile.args.replace = {{"--password", "canary-4"}};
  for (const std::string& text : {render_profile(profile), profile_json(without_secrets(profile))})
    CHECK(text.find("canary") == std::string::npos);
  CHECK(render_exports(profile).find("canary-1") != std::string::npos);
}

TEST_CASE("the whole text of a profile that only extends", "[render]") {
  Profile profile;
  profile.name = "p";
  profile.origin = "p.yaml";
  profile.extends = "basic";
  CHECK(render_profile(profile) ==
        "# p.yaml, with what it inherits from basic\n"
        "name: p\ndescription: \"\"\nheals: []\nworsens: []\ncost: none\nnodes: any\n"
        "env: {}\nunset: []\nforce: []\nbackend: keep\nverify: observe\nras: off\n"
        "process_group_timeout: keep\n"
        "timeouts: {init: 180s, collective: 180s, quiet: 30s, work: 30min, start: 0s, "
        "stall: auto}\n"
        "on_stall: report\nprocesses: keep\nargs:\n  append: []\n  replace: {}\n"
        "python: {faulthandler: false}\noptions: {}\n");
}
