#include "safelaunch/profile/profile.h"

#include <map>

#include "catch.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;

using namespace safelaunch::profile;
using namespace std::chrono_literals;

namespace {

// Profiles by name, as if they were files in profiles/.
ProfileSource files(std::map<std::string, std::string, std::less<>> texts) {
  return [texts = std::move(texts)](std::string_view name) -> Result<ProfileText> {
    const auto found = texts.find(name);
    if (found == texts.end())
      return Error{Errc::bad_config, fmt::format("there is no profile '{}'", name)};
    return ProfileText{found->first, found->first + ".yaml", found->second};
  };
}

Result<Profile> read(const std::string& text) {
  return read_profile({"p", "p.yaml", text}, files({{"basic", "timeouts: {init: 90s}"}}));
}

std::string refusal(const std::string& text) {
  const Result<Profile> profile = read(text);
  return profile.has_error() ? profile.error().message : "accepted";
}

}  // namespace

TEST_CASE("a parent that is not there hides no other mistake of a profile", "[profile]") {
  const auto found = read_profile({"p", "p.yaml", "cots: none\nextends: nobody\nbackend: glo"},
                                  [](std::string_view) -> Result<ProfileText> {
                                    return Error{Errc::bad_config, "there is none"};
                                  });
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().message ==
        "p.yaml:1:1: a profile has no key 'cots'; did you mean 'cost'?\n"
        "p.yaml:2:10: extends: there is none\n"
        "p.yaml:3:10: 'glo' is not one of keep, gloo; did you mean 'gloo'?");
}

TEST_CASE("a profile that says nothing has the defaults", "[profile]") {
  const Profile profile = read("{}").value();

  CHECK(profile.name == "p");
  CHECK(profile.timeouts == Timeouts{180s, 180s, 30s, 30min, 0s, {}});
  CHECK(profile.backend == Backend::keep);
  CHECK(profile.verify == Verify::observe);
  CHECK(profile.on_stall == OnStall::report);
  CHECK(profile.cost == Cost::none);
  CHECK_FALSE(profile.processes);
  CHECK_FALSE(profile.process_group_timeout);
}

TEST_CASE("the mistakes of a profile are told together", "[profile]") {
  CHECK(refusal(R"(
dscription: two words
cost: lagre
env: {RANK: 1, A: ~, B: x}
force: [C]
timeouts: {init: soon, colective: 3s}
options: {probbe: never, grace: soon}
)") == "p.yaml:2:1: a profile has no key 'dscription'; did you mean 'description'?\n"
       "p.yaml:3:7: 'lagre' is not one of none, small, medium, large; did you mean 'large'?\n"
       "p.yaml:4:7: RANK is given to each rank by safelaunch or the launcher; it cannot be set "
       "here\n"
       "p.yaml:4:16: A has no value; write \"\" for an empty one, or list it under unset\n"
       "p.yaml:6:18: init: 'soon' is not a duration: write a number and ms, s, min, h or d, such "
       "as 90s or 30min (0 or off: none)\n"
       "p.yaml:6:24: timeouts has no key 'colective'; did you mean 'collective'?\n"
       "p.yaml:7:11: there is no option 'probbe'; did you mean 'probe'?\n"
       "p.yaml:7:33: grace: 'soon' is not a duration: write a number and ms, s, min, h or d, such "
       "as 90s or 30min (0 or off: none)");
}

TEST_CASE("of many mistakes the first eight are told, and how many more there are", "[profile]") {
  std::string text;
  for (int i = 0; i < 12; ++i) text += fmt::format("wrong{}: 1\n", i);
  const std::string told = refusal(text);
  CHECK(std::ranges::count(told, '\n') == 8);
  CHECK(told.ends_with("\nand 4 more"));
}

TEST_CASE("every key of a profile is read", "[profile]") {
  const Profile profile = read(R"(
name: other
description: two words
heals: [shm-small]
worsens: nvls-bind
cost: medium
nodes: one
env: {NCCL_SHM_DISABLE: 1, EMPTY: ""}
unset: [NCCL_ALGO]
force: [NCCL_ALGO, NCCL_SHM_DISABLE]
backend: gloo
verify: inject
process_group_timeout: 30min
timeouts: {init: 1s, collective: 2s, quiet: 3s, work: 4s, start: 6s, stall: 5s}
on_stall: kill
processes: 2
args:
  append: [--a, "1"]
  replace: {--b: "2", --c: ~}
python: {faulthandler: true}
options: {probe: never, grace: 5s}
)")
                              .value();

  CHECK(profile.name == "other");
  CHECK(profile.description == "two words");
  CHECK(profile.heals == std::vector<std::string>{"shm-small"});
  CHECK(profile.worsens == std::vector<std::string>{"nvls-bind"});
  CHECK(profile.cost == Cost::medium);
  CHECK(profile.nodes == Nodes::one);
  CHECK(profile.env.at("NCCL_SHM_DISABLE").value == "1");
  CHECK(to_string(profile.env.at("NCCL_SHM_DISABLE").place) == "p.yaml:8:25");
  CHECK(profile.env.at("EMPTY").value.empty());
  CHECK(profile.unset == std::vector<std::string>{"NCCL_ALGO"});
  CHECK(profile.forces("NCCL_ALGO"));
  CHECK_FALSE(profile.forces("EMPTY"));
  CHECK(profile.backend == Backend::gloo);
  CHECK(profile.verify == Verify::inject);
  CHECK(profile.process_group_timeout == 30min);
  CHECK(profile.timeouts == Timeouts{1s, 2s, 3s, 4s, 6s, 5s});
  CHECK(profile.on_stall == OnStall::kill);
  CHECK(profile.processes == 2);
  CHECK(profile.args.append == std::vector<std::string>{"--a", "1"});
  CHECK(profile.args.replace.at("--b") == "2");
  CHECK(profile.args.replace.at("--c") == std::nullopt);
  CHECK(profile.faulthandler);
  CHECK(profile.options.at("probe").value == "never");
  CHECK(profile.options.at("probe").origin == "p.yaml:21:18");
}

TEST_CASE("a profile inherits settings, but neither name nor what is healed", "[profile]") {
  const auto source = files({{"parent", R"(
description: of the parent
heals: [shm-small]
worsens: [shm-attach]
cost: large
env: {A: "1", B: "1"}
unset: [C]
force: true
timeouts: {init: 9s}
)"}});
  const Profile child = read_profile({"child", "child.yaml", R"(
extends: parent
env: {B: "2", C: "3"}
unset: [A]
timeouts: {quiet: 1s}
)"},
                                     source)
                            .value();

  CHECK(child.name == "child");
  CHECK(child.extends == "parent");
  CHECK(child.description.empty());
  CHECK(child.heals.empty());
  CHECK(child.worsens == std::vector<std::string>{"shm-attach"});
  CHECK(child.cost == Cost::large);
  CHECK(child.env.size() == 2);
  CHECK(child.env.at("B").value == "2");
  CHECK(child.env.at("C").value == "3");
  CHECK(child.unset == std::vector<std::string>{"A"});
  CHECK(child.forces("B"));
  CHECK(child.timeouts.init == 9s);
  CHECK(child.timeouts.quiet == 1s);
}

TEST_CASE("what is inherited can be taken back", "[profile]") {
  const auto source = files({{"parent",
                              "processes: 2\nprocess_group_timeout: 1h\nforce: true\nenv: {A: x}\n"
                              "worsens: [shm-small]\nargs: {append: [-x]}"}});
  const Profile child =
      read_profile({"child", "child.yaml",
                    "extends: parent\nprocesses: keep\nprocess_group_timeout: keep\n"
                    "force: false\nworsens: []\nargs: {append: []}"},
                   source)
          .value();

  CHECK_FALSE(child.processes);
  CHECK_FALSE(child.process_group_timeout);
  CHECK_FALSE(child.forces("A"));
  CHECK(child.worsens.empty());
  CHECK(child.args.append.empty());
}

TEST_CASE("profiles that extend each other in a circle are refused with the circle", "[profile]") {
  const auto source =
      files({{"a", "extends: b"}, {"b", "\nextends: a"}, {"self", "extends: self"}});

  CHECK(read_profile(source("a").value(), source).error().message ==
        "b.yaml:2:10: extends goes in a circle: a → b → a");
  CHECK(read_profile(source("self").value(), source).error().message ==
        "self.yaml:1:10: extends goes in a circle: self → self");
}

TEST_CASE("a circle is seen however its files are named", "[profile]") {
  const ProfileSource by_path = [](std::string_view word) -> Result<ProfileText> {
    const std::string other = word.ends_with("a.yaml") ? "./b.yaml" : "./x/../a.yaml";
    const std::string name(word.substr(word.rfind('/') + 1, 1));
    return ProfileText{name, std::string(word), "extends: " + other};
  };
  CHECK(read_profile({"a", "a.yaml", "extends: ./b.yaml"}, by_path).error().message ==
        "./x/../a.yaml:1:10: extends goes in a circle: a → b → a → ./b.yaml");
}

TEST_CASE("a profile may extend another of its own name", "[profile]") {
  const ProfileSource built_in = [](std::string_view) -> Result<ProfileText> {
    return ProfileText{"basic", "profiles/basic.yaml (built in)", "cost: small"};
  };
  const Profile mine = read_profile({"basic", "./basic.yaml", "extends: basic"}, built_in).value();
  CHECK(mine.cost == Cost::small);
  CHECK(mine.extends == "basic");
}

TEST_CASE("a line of profiles that each extend the next is followed to a limit", "[profile]") {
  const auto last_of = [](int length) {
    const ProfileSource line = [length](std::string_view word) -> Result<ProfileText> {
      const int number = std::stoi(std::string(word));
      const std::string text =
          number < length ? fmt::format("extends: {}", number + 1) : std::string("cost: large");
      return ProfileText{std::string(word), std::string(word), text};
    };
    return read_profile({"1", "1", "extends: 2"}, line);
  };
  CHECK(last_of(100)->cost == Cost::large);
  CHECK(last_of(101).error().message == "100:1:10: extends goes on over more than 100 profiles");
  CHECK(last_of(1'000'000).has_error());
}

TEST_CASE("a mistake in what a profile extends is told with that file", "[profile]") {
  const auto source = files({{"parent", "\ncots: none"}});

  CHECK(read_profile({"p", "p.yaml", "extends: parent"}, source).error().message ==
        "parent.yaml:2:1: a profile has no key 'cots'; did you mean 'cost'?");
}

TEST_CASE("a bad profile is refused at the exact place, with what to do", "[profile]") {
  struct Bad {
    const char* text;
    const char* refusal;
  };
  const Bad bad[] = {
      {"", "p.yaml:1:1: a profile must be a map of keys to values, not nothing"},
      {"basic", "p.yaml:1:1: a profile must be a map of keys to values, not one value"},
      {"- a", "p.yaml:1:1: a profile must be a map of keys to values, not a list"},
      {"desciption: x",
       "p.yaml:1:1: a profile has no key 'desciption'; did you mean 'description'?"},
      {"cost: none\nenvironment: {}",
       "p.yaml:2:1: a profile has no key 'environment'; there are name, description, extends, "
       "heals, worsens, cost, nodes, env, unset, force, backend, verify, ras, args, timeouts, "
       "on_stall, "
       "processes, python, options, process_group_timeout, resume, restarts, retry"},
      {"cost: lagre",
       "p.yaml:1:7: 'lagre' is not one of none, small, medium, large; did you mean 'large'?"},
      {"cost: [large]", "p.yaml:1:7: cost must be one value, not a list"},
      {"name: x\ncost:", "p.yaml:2:1: cost must be one value, not nothing"},
      {"cost: none\ncost: none", "p.yaml:2:1: the key 'cost' occurs twice; the first is in line 1"},
      {"backend: glo", "p.yaml:1:10: 'glo' is not one of keep, gloo; did you mean 'gloo'?"},
      {"backend: nccl", "p.yaml:1:10: 'nccl' is not one of keep, gloo"},
      {"verify: yes", "p.yaml:1:9: 'yes' is not one of observe, inject"},
      {"on_stall: restart",
       "p.yaml:1:11: on_stall: restart needs `resume: {newer: 'ckpt/*', append: […]}`, or `retry: "
       "{}`"},
      {"resume: {newer: a}\nretry: {}",
       "p.yaml:2:8: retry starts the job as it was started first, and resume from a checkpoint: "
       "switch one of them off"},
      {"retry: {time: 3}", "p.yaml:1:9: retry has no key 'time'; did you mean 'times'?"},
      {"retry: {times: 0}", "p.yaml:1:16: times: '0' is not a number from 1 to 1000"},
      {"retry: {factor: 1.5}", "p.yaml:1:17: factor: '1.5' is not a number from 1 to 1000"},
      {"retry: 5", "p.yaml:1:8: retry must be a map of keys to values, not one value"},
      {"resume: {append: [--resume]}",
       "p.yaml:1:9: resume needs either `newer: 'ckpt/*.pt'`, the checkpoints, or `marker: "
       "ckpt/latest`, a file that is written once one is whole"},
      {"resume: {newer: a, marker: b}",
       "p.yaml:1:9: resume needs either `newer: 'ckpt/*.pt'`, the checkpoints, or `marker: "
       "ckpt/latest`, a file that is written once one is whole"},
      {"resume: {never: a}", "p.yaml:1:10: resume has no key 'never'; did you mean 'newer'?"},
      {"on_stall: die", "p.yaml:1:11: 'die' is not one of report, kill, restart"},
      {"nodes: 1", "p.yaml:1:8: '1' is not one of any, one"},
      {"name: a b", "p.yaml:1:7: 'a b' cannot be a profile's name (letters, digits, - and _)"},
      {"name: ../x", "p.yaml:1:7: '../x' cannot be a profile's name (letters, digits, - and _)"},
      {"name: \"\"", "p.yaml:1:7: '' cannot be a profile's name (letters, digits, - and _)"},
      {"extends: none-such", "p.yaml:1:10: extends: there is no profile 'none-such'"},
      {"extends: [basic]", "p.yaml:1:10: extends must be the name of one profile"},
      {"heals: {a: b}", "p.yaml:1:8: heals must be a list of words, not a map"},
      {"heals: [[a]]", "p.yaml:1:9: heals must hold words only, not a list"},
      {"heals: [Shm Small]",
       "p.yaml:1:8: heals: 'Shm Small' is not a cause's id (small letters, digits and -)"},
      {"env: [A=1]", "p.yaml:1:6: env must be a map of variables to values"},
      {"env: {1A: x}",
       "p.yaml:1:7: '1A' is not a variable name (letters, digits and _, no digit first)"},
      {"env:\n  A-B: x",
       "p.yaml:2:3: 'A-B' is not a variable name (letters, digits and _, no digit first)"},
      {"env:\n  A:",
       "p.yaml:2:3: A has no value; write \"\" for an empty one, or list it under unset"},
      {"env: {A: [1]}", "p.yaml:1:10: A must be one value"},
      {"env: {A: 1, A: 2}", "p.yaml:1:13: the key 'A' occurs twice; the first is in line 1"},
      {"env: {RANK: 0}",
       "p.yaml:1:7: RANK is given to each rank by safelaunch or the launcher; it cannot be set "
       "here"},
      {"env: {SAFELAUNCH_PORT: 1}",
       "p.yaml:1:7: SAFELAUNCH_PORT is given to each rank by safelaunch or the launcher; it cannot "
       "be set here"},
      {"unset: A", "p.yaml:1:8: unset must be a list of variables"},
      {"unset: [A=1]",
       "p.yaml:1:9: 'A=1' is not a variable name (letters, digits and _, no digit first)"},
      {"unset: [[A]]", "p.yaml:1:9: unset must hold names of variables only"},
      {"env: {A: x}\nunset: [A]", "p.yaml:2:9: A is set in line 1 and unset here"},
      {"force: maybe", "p.yaml:1:8: force must be true, false or a list of variables"},
      {"force: [A]", "p.yaml:1:9: force: the profile neither sets nor unsets 'A'"},
      {"timeouts: 5s", "p.yaml:1:11: timeouts must be a map of keys to values, not one value"},
      {"timeouts: {inti: 5s}", "p.yaml:1:12: timeouts has no key 'inti'; did you mean 'init'?"},
      {"timeouts: {init: 5x}",
       "p.yaml:1:18: init: '5x' is not a duration: write a number and ms, s, min, h or d, such as "
       "90s or 30min (0 or off: none)"},
      {"timeouts:\n  quiet: -5s",
       "p.yaml:2:10: quiet: '-5s' is not a duration: write a number and ms, s, min, h or d, such "
       "as 90s or 30min (0 or off: none)"},
      {"timeouts: {work: [1s]}", "p.yaml:1:18: work must be one value, not a list"},
      {"process_group_timeout: 0",
       "p.yaml:1:24: process_group_timeout: '0' is neither keep nor a duration such as 30min"},
      {"process_group_timeout: soon",
       "p.yaml:1:24: process_group_timeout: 'soon' is neither keep nor a duration such as 30min"},
      {"processes: []", "p.yaml:1:12: processes: '' is neither keep nor a number from 1 to 4096"},
      {"processes: [4, x]",
       "p.yaml:1:16: processes: 'x' is neither keep nor a number from 1 to 4096"},
      {"processes: [4, 2, 4]", "p.yaml:1:19: processes: 4 is there twice"},
      {"processes: 0", "p.yaml:1:12: processes: '0' is neither keep nor a number from 1 to 4096"},
      {"processes: two",
       "p.yaml:1:12: processes: 'two' is neither keep nor a number from 1 to 4096"},
      {"processes: 99999999999",
       "p.yaml:1:12: processes: '99999999999' is neither keep nor a number from 1 to 4096"},
      {"args: [--x]", "p.yaml:1:7: args must be a map of keys to values, not a list"},
      {"args: {apend: [x]}", "p.yaml:1:8: args has no key 'apend'; did you mean 'append'?"},
      {"args: {append: {a: b}}", "p.yaml:1:16: append must be a list of words, not a map"},
      {"args: {replace: [x]}", "p.yaml:1:17: replace must be a map of options to their new values"},
      {"args: {replace: {x: y}}",
       "p.yaml:1:18: 'x' is not an option of a script: it begins with no '-'"},
      {"args: {replace: {--lr=3: 1}}",
       "p.yaml:1:18: '--lr=3' is not an option of a script: write --lr alone; it is meant whatever "
       "its value is"},
      {"args: {replace: {--: 1}}",
       "p.yaml:1:18: '--' is not an option of a script: write its name, such as --lr"},
      {"args: {replace: {\"-\": 1}}",
       "p.yaml:1:18: '-' is not an option of a script: write its name, such as --lr"},
      {"args: {replace: {--=3: 1}}",
       "p.yaml:1:18: '--=3' is not an option of a script: write its name, such as --lr"},
      {"args: {replace: {-x: [y]}}", "p.yaml:1:22: -x must be one value"},
      {"python: {faulthandler: 1}", "p.yaml:1:24: '1' is not one of true, false"},
      {"python: {fault_handler: true}",
       "p.yaml:1:10: python has no key 'fault_handler'; did you mean 'faulthandler'?"},
      {"options: [probe]", "p.yaml:1:10: options must be a map of option names to values"},
      {"options: {prob: never}", "p.yaml:1:11: there is no option 'prob'; did you mean 'probe'?"},
      {"options: {probe: maybe}", "p.yaml:1:18: probe: 'maybe' is not one of auto|always|never"},
      {"options: {probe: [auto]}", "p.yaml:1:18: probe must be one value"},
      {"options: {port: 99999}",
       "p.yaml:1:17: port: '99999' is no port and no range of ports; write a number from 1 to "
       "65535, or two as in 20000-25000, or keep, or auto"},
      {"options: {config: x}",
       "p.yaml:1:11: 'config' is not read from files; give --config or set SAFELAUNCH_CONFIG"},
      {"options: {run-dir: x}",
       "p.yaml:1:11: 'run-dir' cannot differ between profiles; put it into safelaunch.yaml, give "
       "--run-dir or set SAFELAUNCH_RUN_DIR"},
      {"options: {init-timeout: 5s}",
       "p.yaml:1:11: a profile gives 'init-timeout' by its own key: timeouts: {init: …}"},
      {"env: &a {A: x}",
       "p.yaml:1:6: an anchor (&name) is not allowed; write the value where it is needed"},
      {"<<: {cost: none}", "p.yaml:1:1: a merge key (<<) is not allowed; use extends"},
  };
  for (const Bad& each : bad) {
    INFO(each.text);
    CHECK(refusal(each.text) == each.refusal);
  }
}

TEST_CASE("a profile's name holds no path and no option", "[profile]") {
  for (const char* word : {"no-shm", "a", "v1.2", "My_Profile"}) CHECK(is_profile_name(word));
  for (const char* word : {"", ".x", "-x", "a/b", "a b", "..", "a,b", "ä"})
    CHECK_FALSE(is_profile_name(word));
}

TEST_CASE("a list of numbers of processes is a ladder, and the first is where it begins",
          "[profile]") {
  const Profile profile = *read("processes: [8, 4, 1]");
  CHECK(profile.processes == 8);
  CHECK(profile.ladder == std::vector{8, 4, 1});
  const Profile one = *read("processes: [4]");
  CHECK(one.processes == 4);
  CHECK(one.ladder.empty());
}

TEST_CASE("a mistyped cause under heals or worsens is found in the catalogue's ids", "[profile]") {
  constexpr std::string_view kKnown[] = {"shm-small", "ib-peer", "mine"};
  const auto mistakes = [&](const std::string& text) {
    const Result<Profile> profile = read_profile({"p", "p.yaml", text}, [](std::string_view) {
      return Result<ProfileText>(ProfileText{"base", "base.yaml", "heals: old\nworsens: [gone]\n"});
    });
    const auto unknown = unknown_causes(profile.value(), kKnown);
    return unknown ? unknown->message : "";
  };
  CHECK(mistakes("heals: [shm-small, mine]\nworsens: ib-peer\n").empty());
  CHECK(mistakes("cost: none\n").empty());
  CHECK(mistakes("heals: [ib-peer, shm-smal]\n") ==
        "p.yaml:1:18: heals: there is no cause 'shm-smal'; did you mean 'shm-small'?");
  CHECK(mistakes("heals: zzzzzzzzz\n") ==
        "p.yaml:1:8: heals: there is no cause 'zzzzzzzzz'; docs/causes.md tells how to add one");
  CHECK(mistakes("extends: base\n") ==
        "base.yaml:2:11: worsens: there is no cause 'gone'; docs/causes.md tells how to add one");
  CHECK(mistakes("extends: base\nworsens: []\n").empty());
  CHECK(mistakes("heals: [a-b]\nworsens: [ib-pear]\n")
            .ends_with("\np.yaml:2:11: worsens: there is no cause 'ib-pear'; did you mean "
                       "'ib-peer'?"));
}
