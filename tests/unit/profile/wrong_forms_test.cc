#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/profile.h"

// Each key with each form that it cannot have: the whole refusal.

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

std::string of_profile(const std::string& text) {
  const ProfileSource none = [](std::string_view) { return Error{Errc::bad_config, "none"}; };
  const auto profile = read_profile({"p", "f", text}, none);
  return profile.has_error() ? profile.error().message : "accepted";
}

std::string of_config(const std::string& text) {
  const auto config = read_config(text, "f");
  return config.has_error() ? config.error().message : "accepted";
}

// The text before and behind a key's value, and the refusals of nothing, of the word '?', of a list
// of a list, and of a map there; "" where the refusal stands at a place inside of the form.
struct Key {
  std::string before;
  std::string after;
  std::string nothing;
  std::string word;
  std::string list;
  std::string map;
};

void check_forms(const Key& key) {
  const auto told = [&](const char* form, const std::string& expected) {
    if (expected.empty()) return;
    INFO(key.before << form << key.after);
    const std::string whole = fmt::format("f:1:{}: {}", key.before.size() + 1, expected);
    CHECK(of_profile(key.before + form + key.after) ==
          (expected == "accepted" ? "accepted" : whole));
  };
  told("~", key.nothing);
  told("'?'", key.word);
  told("[[x]]", key.list);
  told("{1: [x]}", key.map);
}

Key one_value(const std::string& key, const char* word) {
  return {key + ": ",
          "",
          key + " must be one value, not nothing",
          word,
          key + " must be one value, not a list",
          key + " must be one value, not a map"};
}

}  // namespace

TEST_CASE("a key of a profile that has one value refuses every other form", "[wrong_forms]") {
  const Key keys[] = {
      one_value("name", "'?' cannot be a profile's name (letters, digits, - and _)"),
      one_value("description", "accepted"),
      one_value("cost", "'?' is not one of none, small, medium, large"),
      one_value("nodes", "'?' is not one of any, one"),
      one_value("backend", "'?' is not one of keep, gloo"),
      one_value("verify", "'?' is not one of observe, inject"),
      one_value("ras", "'?' is not one of off, ask"),
      one_value("on_stall", "'?' is not one of report, kill, restart"),
  };
  for (const Key& key : keys) check_forms(key);
}

TEST_CASE("a key of a profile that has several values refuses every other form", "[wrong_forms]") {
  constexpr const char* kProcesses = "processes: '' is neither keep nor a number from 1 to 4096";
  constexpr const char* kTimeout =
      "process_group_timeout: '' is neither keep nor a duration such as 30min";
  const Key keys[] = {
      {"heals: ", "", "heals must be a list of words, not nothing",
       "heals: '?' is not a cause's id (small letters, digits and -)", "",
       "heals must be a list of words, not a map"},
      {"worsens: ", "", "worsens must be a list of words, not nothing",
       "worsens: '?' is not a cause's id (small letters, digits and -)", "",
       "worsens must be a list of words, not a map"},
      {"extends: ", "", "extends must be the name of one profile", "extends: none",
       "extends must be the name of one profile", "extends must be the name of one profile"},
      {"env: ", "", "env must be a map of variables to values",
       "env must be a map of variables to values", "env must be a map of variables to values", ""},
      {"unset: ", "", "unset must be a list of variables", "unset must be a list of variables", "",
       "unset must be a list of variables"},
      {"force: ", "", "force must be true, false or a list of variables",
       "force must be true, false or a list of variables", "",
       "force must be true, false or a list of variables"},
      {"process_group_timeout: ", "", kTimeout,
       "process_group_timeout: '?' is neither keep nor a duration such as 30min", kTimeout,
       kTimeout},
      {"resume: ", "", "resume must be a map of keys to values, not nothing", "", "", ""},
      {"retry: ", "", "retry must be a map of keys to values, not nothing", "", "", ""},
      {"restarts: ", "", "restarts: '' is not a number from 1 to 1000",
       "restarts: '?' is not a number from 1 to 1000",
       "restarts: '' is not a number from 1 to 1000",
       "restarts: '' is not a number from 1 to 1000"},
      {"processes: ", "", kProcesses, "processes: '?' is neither keep nor a number from 1 to 4096",
       "", kProcesses},
      {"timeouts: ", "", "timeouts must be a map of keys to values, not nothing",
       "timeouts must be a map of keys to values, not one value",
       "timeouts must be a map of keys to values, not a list", ""},
      {"args: ", "", "args must be a map of keys to values, not nothing",
       "args must be a map of keys to values, not one value",
       "args must be a map of keys to values, not a list", ""},
      {"python: ", "", "python must be a map of keys to values, not nothing",
       "python must be a map of keys to values, not one value",
       "python must be a map of keys to values, not a list", ""},
      {"options: ", "", "options must be a map of option names to values",
       "options must be a map of option names to values",
       "options must be a map of option names to values", ""},
      {"args: {append: ", "}", "append must be a list of words, not nothing", "accepted", "",
       "append must be a list of words, not a map"},
      {"args: {replace: ", "}", "replace must be a map of options to their new values",
       "replace must be a map of options to their new values",
       "replace must be a map of options to their new values", ""},
      {"args: {replace: {--a: ", "}}", "accepted", "accepted", "--a must be one value",
       "--a must be one value"},
      {"python: {faulthandler: ", "}", "faulthandler must be one value, not nothing",
       "'?' is not one of true, false", "faulthandler must be one value, not a list",
       "faulthandler must be one value, not a map"},
      {"options: {grace: ", "}", "grace must be one value",
       "grace: '?' is not a duration: write a number and ms, s, min, h or d, such as 90s or 30min "
       "(0 or off: none)",
       "grace must be one value", "grace must be one value"},
  };
  for (const Key& key : keys) check_forms(key);
}

TEST_CASE("a wrong value inside of a list or a map is told at its own place", "[wrong_forms]") {
  struct Row {
    const char* text;
    const char* refusal;
  };
  const Row rows[] = {
      {"heals: [a, [b]]", "f:1:12: heals must hold words only, not a list"},
      {"heals: [a, ~]", "f:1:12: heals must hold words only, not nothing"},
      {"heals: [a, {b: c}]", "f:1:12: heals must hold words only, not a map"},
      {"env: {1: [x]}",
       "f:1:7: '1' is not a variable name (letters, digits and _, no digit first)"},
      {"env: {A: [x], B: {a: b}, C: ~}",
       "f:1:10: A must be one value\nf:1:18: B must be one value\n"
       "f:1:26: C has no value; write \"\" for an empty one, or list it under unset"},
      {"env: {LOCAL_RANK: 0, TORCHELASTIC_RUN_ID: x}",
       "f:1:7: LOCAL_RANK is given to each rank by safelaunch or the launcher; it cannot be set "
       "here\nf:1:22: TORCHELASTIC_RUN_ID is given to each rank by safelaunch or the launcher; it "
       "cannot be set here"},
      {"unset: [A, ~, [B], WORLD_SIZE]",
       "f:1:12: unset must hold names of variables only\n"
       "f:1:15: unset must hold names of variables only\n"
       "f:1:20: WORLD_SIZE is given to each rank by safelaunch or the launcher; it cannot be set "
       "here"},
      {"force: [[x]]", "f:1:9: force: the profile neither sets nor unsets ''"},
      {"processes: [[4]]", "f:1:13: processes: '' is neither keep nor a number from 1 to 4096"},
      {"processes: [4, ~]", "f:1:16: processes: '' is neither keep nor a number from 1 to 4096"},
      {"processes: [4, keep]",
       "f:1:16: processes: 'keep' is neither keep nor a number from 1 to 4096"},
      {"timeouts: {init: ~, quiet: [1s]}",
       "f:1:18: init must be one value, not nothing\nf:1:28: quiet must be one value, not a list"},
      {"args: {append: [a, [b]], replace: {a: 1, --b: [c]}}",
       "f:1:20: append must hold words only, not a list\n"
       "f:1:36: 'a' is not an option of a script: it begins with no '-'\n"
       "f:1:47: --b must be one value"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(of_profile(row.text) == row.refusal);
  }
}

TEST_CASE("each key that is nearly right is told with the right one", "[wrong_forms]") {
  for (const char* key :
       {"name", "description", "extends", "worsens", "unset", "force", "backend", "verify", "args",
        "timeouts", "on_stall", "processes", "python", "options", "process_group_timeout"}) {
    std::string wrong = key;
    std::swap(wrong[1], wrong[2]);
    INFO(wrong);
    CHECK(of_profile(wrong + ": x") ==
          fmt::format("f:1:1: a profile has no key '{}'; did you mean '{}'?", wrong, key));
  }
  for (const char* key : {"init", "collective", "quiet", "work", "start", "stall"}) {
    const std::string wrong = std::string(key) + "s";
    INFO(wrong);
    CHECK(of_profile("timeouts: {" + wrong + ": 5s}") ==
          fmt::format("f:1:12: timeouts has no key '{}'; did you mean '{}'?", wrong, key));
  }
  for (const char* key : {"chain", "unset", "options", "clusters"}) {
    std::string wrong = key;
    std::swap(wrong[1], wrong[2]);
    INFO(wrong);
    CHECK(of_config(wrong + ": x") ==
          fmt::format("f:1:1: a config file has no key '{}'; did you mean '{}'?", wrong, key));
  }
}

TEST_CASE("an option that a profile gives by a key of its own is told with that key",
          "[wrong_forms]") {
  for (const char* deadline : {"init", "collective", "quiet", "work", "start", "stall"})
    CHECK(of_profile(fmt::format("options: {{{}-timeout: 5s}}", deadline)) ==
          fmt::format("f:1:11: a profile gives '{}-timeout' by its own key: timeouts: {{{}: …}}",
                      deadline, deadline));
  CHECK(of_profile("options: {nproc-per-node: 2}") ==
        "f:1:11: a profile gives 'nproc-per-node' by its own key: processes: …");
  CHECK(of_profile("options: {set: A=1}") == "f:1:11: 'set' is not read from files; give --set");
  CHECK(of_profile("options: {profile: basic}") ==
        "f:1:11: 'profile' is not read from files; give --profile or set SAFELAUNCH_PROFILE");
}

TEST_CASE("a key of safelaunch.yaml refuses every form that it cannot have", "[wrong_forms]") {
  struct Row {
    const char* text;
    const char* refusal;
  };
  const Row rows[] = {
      {"word", "f:1:1: a config file must be a map of keys to values, not one value"},
      {"chain:", "f:1:1: chain must be a list of profiles"},
      {"chain: {a: b}", "f:1:8: chain must be a list of profiles"},
      {"chain: [~]", "f:1:9: chain must be a list of profiles"},
      {"chain: ''",
       "f:1:8: chain: '' is not a list of profiles: a name between the commas is empty"},
      {"chain: [a, ',']",
       "f:1:8: chain: 'a,,' is not a list of profiles: a name between the commas is empty"},
      {"env: [A]", "f:1:6: env must be a map of variables to values"},
      {"unset: A", "f:1:8: unset must be a list of variables"},
      {"{env: {A: 1}, unset: [A]}", "f:1:23: A is set in line 1 and unset here"},
      {"options: x", "f:1:10: options must be a map of option names to values"},
      {"options: {only: ~}", "f:1:17: only must be one value"},
      {"clusters: x", "f:1:11: clusters must be a list of rules, each with '- name: …'"},
      {"clusters: [~]", "f:1:12: a cluster rule must be a map of keys to values, not nothing"},
      {"clusters: [[a]]", "f:1:12: a cluster rule must be a map of keys to values, not a list"},
      {"clusters: [{name: ~}]", "f:1:19: name must be one value, not nothing"},
      {"clusters: [{name: [a]}]", "f:1:19: name must be one value, not a list"},
      {"clusters: [{name: ''}]", "f:1:12: a cluster rule needs a name"},
      {"clusters: [{name: a, match: x}]",
       "f:1:29: match must be a map of keys to values, not one value"},
      {"clusters: [{name: a, match: ~}]",
       "f:1:29: match must be a map of keys to values, not nothing"},
      {"clusters: [{name: a, match: {hostname: ~}}]", "f:1:40: hostname: not a word"},
      {"clusters: [{name: a, match: {gpu: {a: b}}}]", "f:1:35: gpu: not a word"},
      {"clusters: [{name: a, match: {network: [x]}}]", "f:1:39: network: not a word"},
      {"clusters: [{name: a, match: {env: x}}]",
       "f:1:35: env must be a map of variables to patterns"},
      {"clusters: [{name: a, match: {env: {}}}]",
       "f:1:29: match has no condition; what holds everywhere stands at the top level"},
      {"clusters: [{name: a, match: {env: {A: '[', B: '('}}}]",
       "f:1:39: A: '[' is not a regular expression: missing ]: [\n"
       "f:1:47: B: '(' is not a regular expression: missing ): ("},
      {"clusters: [{name: a, chain: []}]", "f:1:29: chain must name at least one profile"},
      {"clusters: [{name: a, env: {RANK: 1}}]",
       "f:1:28: RANK is given to each rank by safelaunch or the launcher; it cannot be set here"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(of_config(row.text) == row.refusal);
  }
}
