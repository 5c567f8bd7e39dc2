#include <map>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/profile/profile_text.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

// A line of profiles, the oldest first; each extends the one before it. The last is read.
Result<Profile> heir_of(const std::vector<std::string>& generations) {
  std::map<std::string, std::string> texts;
  for (std::size_t i = 0; i < generations.size(); ++i)
    texts[fmt::format("g{}", i)] =
        i == 0 ? generations[i] : fmt::format("extends: g{}\n{}", i - 1, generations[i]);
  const ProfileSource source = [&](std::string_view name) -> Result<ProfileText> {
    const auto found = texts.find(std::string(name));
    if (found == texts.end()) return Error{Errc::bad_config, "there is none"};
    return ProfileText{found->first, found->first + ".yaml", found->second};
  };
  const std::string last = fmt::format("g{}", generations.size() - 1);
  return read_profile(source(last).value(), source);
}

// The line of `profiles show` that begins with a key (or, for a map, with those under it).
std::string shown(const Profile& profile, const std::string& key) {
  const std::string text = "\n" + render_profile(profile);
  const std::size_t begin = text.find("\n" + key + ":");
  if (begin == std::string::npos) return "absent";
  std::size_t end = text.find('\n', begin + 1);
  while (end != std::string::npos && text.substr(end, 3) == "\n  ") end = text.find('\n', end + 1);
  return text.substr(begin + 1, end - begin - 1);
}

struct Line {
  const char* key;
  std::vector<std::string> generations;
  const char* shown;
};

}  // namespace

TEST_CASE("each key of a profile is inherited, replaced or added to, as it is documented",
          "[inheritance]") {
  const Line lines[] = {
      {"description", {"description: old", ""}, "description: \"\""},
      {"description", {"description: old", "description: new"}, "description: \"new\""},
      {"heals", {"heals: [a]", ""}, "heals: []"},
      {"heals", {"heals: [a]", "heals: b"}, "heals: [\"b\"]"},
      {"worsens", {"worsens: [a]", ""}, "worsens: [\"a\"]"},
      {"worsens", {"worsens: [a]", "worsens: [b]"}, "worsens: [\"b\"]"},
      {"worsens", {"worsens: [a]", "worsens: []", ""}, "worsens: []"},
      {"cost", {"cost: large", ""}, "cost: large"},
      {"cost", {"cost: large", "cost: none"}, "cost: none"},
      {"nodes", {"nodes: one", "", ""}, "nodes: one"},
      {"nodes", {"nodes: one", "nodes: any"}, "nodes: any"},
      {"env", {"env: {A: 1}", "env: {B: 2}"}, "env:\n  A: \"1\"\n  B: \"2\""},
      {"env", {"env: {A: 1}", "env: {A: 2}", ""}, "env:\n  A: \"2\""},
      {"env", {"env: {A: 1, B: 1}", "unset: [A]"}, "env:\n  B: \"1\""},
      {"env", {"env: {A: 1}", "unset: [A]", "env: {A: 3}"}, "env:\n  A: \"3\""},
      {"unset", {"unset: [A]", ""}, "unset: [\"A\"]"},
      {"unset", {"unset: [A]", "unset: [B]"}, "unset: [\"A\", \"B\"]"},
      {"unset", {"unset: [A, B]", "unset: [A]"}, "unset: [\"B\", \"A\"]"},
      {"unset", {"unset: [A]", "env: {A: 1}"}, "unset: []"},
      {"unset", {"env: {A: 1}", "unset: [A]"}, "unset: [\"A\"]"},
      {"force", {"{env: {A: 1}, force: [A]}", ""}, "force: [\"A\"]"},
      {"force", {"{env: {A: 1}, force: [A]}", "force: []"}, "force: []"},
      {"force", {"{env: {A: 1}, force: [A]}", "force: true"}, "force: true"},
      {"force", {"force: true", "force: false"}, "force: []"},
      {"force", {"force: true", "env: {B: 1}\nforce: [B]"}, "force: [\"B\"]"},
      {"force", {"env: {A: 1}", "force: [A]"}, "force: [\"A\"]"},
      {"force", {"unset: [A]", "force: [A]"}, "force: [\"A\"]"},
      {"backend", {"backend: gloo", ""}, "backend: gloo"},
      {"backend", {"backend: gloo", "backend: keep"}, "backend: keep"},
      {"verify", {"verify: inject", ""}, "verify: inject"},
      {"verify", {"verify: inject", "verify: observe"}, "verify: observe"},
      {"ras", {"ras: ask", ""}, "ras: ask"},
      {"ras", {"ras: ask", "ras: off"}, "ras: off"},
      {"on_stall", {"on_stall: kill", ""}, "on_stall: kill"},
      {"on_stall", {"on_stall: kill", "on_stall: report"}, "on_stall: report"},
      {"retry", {"retry: {times: 7}", ""}, "retry: {times: 7, backoff: 10s, factor: 2}"},
      {"retry",
       {"retry: {times: 7}", "retry: {factor: 3}"},
       "retry: {times: 5, backoff: 10s, factor: 3}"},
      {"retry",
       {"resume: {newer: a}", "resume: off\nretry: {}"},
       "retry: {times: 5, backoff: 10s, factor: 2}"},
      {"process_group_timeout", {"process_group_timeout: 1h", ""}, "process_group_timeout: 1h"},
      {"process_group_timeout",
       {"process_group_timeout: 1h", "process_group_timeout: keep"},
       "process_group_timeout: keep"},
      {"timeouts",
       {"timeouts: {init: 1s, quiet: 2s}", "timeouts: {quiet: 3s}"},
       "timeouts: {init: 1s, collective: 180s, quiet: 3s, work: 30min, start: 0s, stall: auto}"},
      {"timeouts",
       {"timeouts: {init: 1s}", "timeouts: {init: off}", "timeouts: {}"},
       "timeouts: {init: 0s, collective: 180s, quiet: 30s, work: 30min, start: 0s, stall: auto}"},
      {"processes", {"processes: 4", ""}, "processes: 4"},
      {"processes", {"processes: [8, 4]", ""}, "processes: [8, 4]"},
      {"processes", {"processes: [8, 4]", "processes: 2"}, "processes: 2"},
      {"processes", {"processes: 4", "processes: [2, 1]"}, "processes: [2, 1]"},
      {"processes", {"processes: [8, 4]", "processes: keep"}, "processes: keep"},
      {"args",
       {"args: {append: [-a], replace: {-b: 1}}", ""},
       "args:\n  append: [\"-a\"]\n  replace:\n    \"-b\": \"1\""},
      {"args",
       {"args: {append: [-a], replace: {-b: 1}}", "args: {append: [-c]}"},
       "args:\n  append: [\"-c\"]\n  replace:\n    \"-b\": \"1\""},
      {"args",
       {"args: {replace: {-b: 1, -c: 1}}", "args: {replace: {-b: ~, -d: 2}}"},
       "args:\n  append: []\n  replace:\n    \"-b\": ~\n    \"-c\": \"1\"\n    \"-d\": \"2\""},
      {"python", {"python: {faulthandler: true}", ""}, "python: {faulthandler: true}"},
      {"python",
       {"python: {faulthandler: true}", "python: {faulthandler: false}"},
       "python: {faulthandler: false}"},
      {"python", {"python: {faulthandler: true}", "python: {}"}, "python: {faulthandler: true}"},
      {"options",
       {"options: {grace: 5s, port: keep}", "options: {grace: 9s}"},
       "options:\n  grace: \"9s\"\n  port: \"keep\""},
      {"options", {"options: {grace: 5s}", "options: {}"}, "options:\n  grace: \"5s\""},
  };
  for (const Line& line : lines) {
    INFO(line.generations.front() << " | " << line.generations.back());
    const auto heir = heir_of(line.generations);
    REQUIRE(heir.has_value());
    CHECK(shown(*heir, line.key) == line.shown);
  }
}

TEST_CASE("a name is never inherited, and the origin is the heir's own file", "[inheritance]") {
  const Profile heir = heir_of({"name: other", "", ""}).value();
  CHECK(heir.name == "g2");
  CHECK(heir.extends == "g1");
  CHECK(heir.origin == "g2.yaml");
  CHECK(heir_of({"{}", "name: mine"})->name == "mine");
}

TEST_CASE("a variable keeps the place where it was set last", "[inheritance]") {
  const Profile heir = heir_of({"env: {A: 1, B: 1}", "env:\n  B: 2"}).value();
  CHECK(to_string(heir.env.at("A").place) == "g0.yaml:1:10");
  CHECK(to_string(heir.env.at("B").place) == "g1.yaml:3:6");
}

TEST_CASE("a mistake is told with the file in which it stands, and the heirs are not read",
          "[inheritance]") {
  CHECK(heir_of({"cost: huge", "cost: huger", "cost: hugest"}).error().message ==
        "g0.yaml:1:7: 'huge' is not one of none, small, medium, large");
  CHECK(heir_of({"{}", "cost: huger", ""}).error().message ==
        "g1.yaml:2:7: 'huger' is not one of none, small, medium, large");
}

TEST_CASE("a variable may be unset in an heir that was set elsewhere, not in one file",
          "[inheritance]") {
  CHECK(heir_of({"env: {A: 1}", "unset: [A]"}).has_value());
  CHECK(heir_of({"{}", "env: {A: 1}\nunset: [A]"}).error().message ==
        "g1.yaml:3:9: A is set in line 2 and unset here");
}

TEST_CASE("force names what the profile or its parents set, and nothing else", "[inheritance]") {
  CHECK(heir_of({"env: {A: 1}", "force: [A, B, C]"}).error().message ==
        "g1.yaml:2:12: force: the profile neither sets nor unsets 'B'\n"
        "g1.yaml:2:15: force: the profile neither sets nor unsets 'C'");
  CHECK(heir_of({"env: {A: 1}", "env: {A: 2}", "unset: [A]", "force: [A]"}).has_value());
}

TEST_CASE("what is extended must be there, and the place of the word is told", "[inheritance]") {
  const ProfileSource none = [](std::string_view name) -> Result<ProfileText> {
    return Error{Errc::bad_config, fmt::format("there is no '{}'", name)};
  };
  const auto refusal = [&](const char* text) {
    return read_profile({"p", "p.yaml", text}, none).error().message;
  };
  CHECK(refusal("cost: none\nextends:   x") == "p.yaml:2:12: extends: there is no 'x'");
  CHECK(refusal("extends: ''") == "p.yaml:1:10: extends: there is no ''");
  CHECK(refusal("extends: {a: b}") == "p.yaml:1:10: extends must be the name of one profile");
  CHECK(refusal("extends:") == "p.yaml:1:1: extends must be the name of one profile");
}
