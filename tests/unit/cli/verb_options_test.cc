#include <map>
#include <set>

#include "catch.h"
#include "launcher/cli/help.h"
#include "launcher/cli/verb_run.h"
#include "launcher/cli/verb_wishes.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/profile.h"
#include "safelaunch/trial/play.h"
#include "safelaunch/watch/patience.h"

using namespace safelaunch;
using namespace safelaunch::cli;
using std::chrono_literals::operator""s;

namespace {

using OptionLine = std::vector<std::string>;

template <class Given>
Given given_to(const Verb& verb, const OptionLine& words) {
  Given given;
  const auto read = read_words_of(verb, words, &given);
  INFO((read ? "" : read.error().message));
  REQUIRE(read.has_value());
  return given;
}

std::string refused_by(const Verb& verb, const OptionLine& words) {
  CleanWords clean;
  TestWords test;
  ReportWords report;
  void* target = &verb == &kCleanVerb  ? static_cast<void*>(&clean)
                 : &verb == &kTestVerb ? static_cast<void*>(&test)
                                       : static_cast<void*>(&report);
  const auto read = read_words_of(verb, words, target);
  return read ? "accepted" : read.error().message;
}

std::string_view fallback_of(const Verb& verb, std::string_view option) {
  const settings::Option* row = settings::find_option(verb.options, option);
  INFO(verb.name << " --" << option);
  REQUIRE(row != nullptr);
  return row->fallback;
}

}  // namespace

TEST_CASE("clean's options fill its own members", "[clean]") {
  using settings::CleanPolicy;
  const auto clean = [](const OptionLine& words) {
    return given_to<CleanWords>(kCleanVerb, words);
  };
  CHECK(clean({}).policy == CleanPolicy::ours);
  CHECK(clean({"--policy", "off"}).policy == CleanPolicy::off);
  CHECK(clean({"--policy=ours"}).policy == CleanPolicy::ours);
  CHECK(clean({"--policy=orphans"}).policy == CleanPolicy::orphans);
  CHECK(clean({"--all-mine"}).all_mine);
  CHECK(clean({"--all_mine"}).all_mine);
  CHECK(clean({"--dry-run"}).dry_run);
  CHECK_FALSE(clean({"--dry-run"}).json);
  CHECK(clean({"--json"}).json);
  CHECK_FALSE(clean({"--json"}).dry_run);
  CHECK(clean({"--pid", "71"}).pid == 71);
  CHECK_FALSE(clean({"--pid", "71"}).yes);
  CHECK(clean({"--pid=71", "-y"}).yes);
}

TEST_CASE("clean removes what is only named like ours where a person says --all-mine", "[clean]") {
  using settings::CleanPolicy;
  CHECK(policy_of({}) == CleanPolicy::ours);
  CHECK(policy_of({.policy = CleanPolicy::off}) == CleanPolicy::off);
  CHECK(policy_of({.policy = CleanPolicy::orphans}) == CleanPolicy::orphans);
  CHECK(policy_of({.all_mine = true}) == CleanPolicy::all_mine);
}

TEST_CASE("no word of --policy allows what --all-mine does", "[clean]") {
  CHECK(refused_by(kCleanVerb, {"--policy", "all_mine"})
            .starts_with("--policy: 'all_mine' is not one of off|ours|orphans"));
  CHECK(refused_by(kCleanVerb, {"--policy=orphans", "--all-mine"}) ==
        "--all-mine excludes --policy (safelaunch clean --help lists the options)");
  CHECK(refused_by(kCleanVerb, {"--policy=off", "--policy=ours"}) ==
        "--policy is given twice (safelaunch clean --help lists the options)");
}

TEST_CASE("the pid that clean ends stands beside no policy", "[clean]") {
  CHECK(
      refused_by(kCleanVerb, {"--pid=71", "--policy=ours"}).starts_with("--policy excludes --pid"));
  CHECK(
      refused_by(kCleanVerb, {"--pid=71", "--all-mine"}).starts_with("--pid excludes --all-mine"));
  CHECK(refused_by(kCleanVerb, {"--pid=0"}).starts_with("--pid: '0' is not a whole number from 1"));
}

TEST_CASE("the options of doctor, init and the small verbs fill their own members", "[verbs]") {
  const auto doctor = [](const char* word) { return given_to<DoctorWords>(kDoctorVerb, {word}); };
  CHECK((doctor("--fix").fix && !doctor("--fix").json));
  CHECK((doctor("--json").json && !doctor("--json").fix));

  const auto init = [](const char* word) { return given_to<InitWords>(kInitVerb, {word}); };
  CHECK((init("--yes").yes && !init("--yes").force && !init("--yes").user));
  CHECK(init("-y").yes);
  CHECK((init("--force").force && !init("--force").yes));
  CHECK((init("--user").user && !init("--user").force));

  const auto stacks = [](const char* word) { return given_to<StacksWords>(kStacksVerb, {word}); };
  CHECK((stacks("--all").all && !stacks("--all").json));
  CHECK((stacks("--json").json && !stacks("--json").all));

  const auto status = [](const char* word) { return given_to<StatusWords>(kStatusVerb, {word}); };
  CHECK((status("--watch").watching && !status("--watch").json));
  CHECK((status("--json").json && !status("--json").watching));

  CHECK(given_to<RunsWords>(kRunsVerb, {"--json"}).json);
  CHECK(given_to<ProfilesWords>(kProfilesVerb, {"list", "--json"}).json);
}

TEST_CASE("report's options fill its own members, and a file has one name", "[report]") {
  const ReportWords report = given_to<ReportWords>(
      kReportVerb, {"--html", "page.html", "a1b2", "--bundle=b.tgz", "--json"});
  CHECK(report.html == "page.html");
  CHECK(report.bundle == "b.tgz");
  CHECK(report.json);
  CHECK(refused_by(kReportVerb, {"--html=a", "--html=b"}) ==
        "--html is given twice (safelaunch report --help lists the options)");
  CHECK(refused_by(kReportVerb, {"--bundle"}) ==
        "--bundle needs a value: FILE (safelaunch report --help lists the options)");
}

TEST_CASE("test's options fill its own members", "[test]") {
  const TestWords test = given_to<TestWords>(
      kTestVerb,
      {"--nproc_per_node=4", "--backend", "nccl,gloo", "--backend=jax", "--init-timeout=1s",
       "--collective-timeout=2s", "--start-timeout=3s", "--json", "--", "python3", "--json"});
  CHECK(test.ranks == 4);
  CHECK(test.backends == OptionLine{"nccl", "gloo", "jax"});
  CHECK(test.init_timeout == 1s);
  CHECK(test.collective_timeout == 2s);
  CHECK(test.start_timeout == 3s);
  CHECK(test.json);
  const TestWords nothing = given_to<TestWords>(kTestVerb, {});
  CHECK_FALSE((nothing.ranks || nothing.init_timeout || nothing.json));
}

TEST_CASE("test starts from one rank to 1024", "[test]") {
  for (const char* ranks : {"1", "1024"})
    CHECK(refused_by(kTestVerb, {"--nproc-per-node", ranks}) == "accepted");
  for (const char* ranks : {"0", "1025", "gpu", "-1"})
    CHECK(refused_by(kTestVerb, {"--nproc-per-node", ranks}) ==
          "--nproc-per-node: '" + std::string(ranks) +
              "' is not a whole number from 1 to 1024 (safelaunch test --help lists the options)");
}

TEST_CASE("the deadlines that test's help names are those that hold", "[test]") {
  const trial::Setup setup;
  CHECK(fallback_of(kTestVerb, "init-timeout") == format_duration(setup.init_timeout));
  CHECK(fallback_of(kTestVerb, "collective-timeout") == format_duration(setup.collective_timeout));
  CHECK(parse_duration(fallback_of(kTestVerb, "start-timeout")).value() == setup.start_timeout);
}

TEST_CASE("the deadlines that a run's help names are those of a profile that says none",
          "[run_options]") {
  const profile::Timeouts timeouts;
  struct Row {
    std::string_view option;
    Duration holds;
  };
  for (const Row& row :
       {Row{"init-timeout", timeouts.init}, Row{"collective-timeout", timeouts.collective},
        Row{"quiet-timeout", timeouts.quiet}, Row{"work-timeout", timeouts.work},
        Row{"start-timeout", timeouts.start}}) {
    INFO(row.option);
    CHECK(parse_duration(fallback_of(kRunVerb, row.option)).value() == row.holds);
  }
  CHECK(parse_duration(fallback_of(kRunVerb, "nodes-timeout")).value() ==
        plan::PartyPlan().nodes_within);
  CHECK(parse_duration(fallback_of(kRunVerb, "node-lease")).value() ==
        plan::PartyPlan().terms.lease);
  CHECK(fallback_of(kRunVerb, "stall-timeout") == format_stall_timeout(timeouts.stall));
}

TEST_CASE("a run keeps as many earlier runs as its help names", "[run_options]") {
  const report::KeepLimits own = keep_limits({});
  CHECK(fallback_of(kRunVerb, "keep-runs") == std::to_string(own.runs));
  CHECK(fallback_of(kRunVerb, "keep-days") == std::to_string(own.days));

  settings::RunOptions options;
  options.keep_runs = 0;
  CHECK(keep_limits(options).runs == 0);
  CHECK(keep_limits(options).days == own.days);
  options.keep_days = 7;
  CHECK(keep_limits(options).days == 7);
}

TEST_CASE("the watch by itself waits as long as a profile that says nothing", "[run_options]") {
  const profile::Timeouts timeouts;
  const watch::StageLimits limits;
  CHECK(limits.init == timeouts.init);
  CHECK(limits.collective == timeouts.collective);
  CHECK(limits.quiet == timeouts.quiet);
  CHECK(limits.work == timeouts.work);
  CHECK(parse_duration(fallback_of(kRunVerb, "stopped-timeout")).value() == limits.stopped);
}

TEST_CASE("what help names as an option's fallback is what holds without it", "[run_options]") {
  using Options = settings::RunOptions;
  struct Row {
    std::string_view option;
    bool (*is_same)(const Options& one, const Options& other);
  };
  const std::vector<Row> rows{
      {"profile",
       [](const Options& one, const Options&) { return one.profiles == profile::default_chain(); }},
      {"color", [](const Options& a, const Options& b) { return a.colour == b.colour; }},
      {"clean", [](const Options& a, const Options& b) { return a.clean == b.clean; }},
      {"port", [](const Options& a, const Options& b) { return a.port == b.port; }},
      {"probe", [](const Options& a, const Options& b) { return a.probe == b.probe; }},
      {"binding", [](const Options& a, const Options& b) { return a.binding == b.binding; }},
      {"ranks", [](const Options& a, const Options& b) { return a.ranks == b.ranks; }},
  };
  std::set<std::string_view> compared{"init-timeout",    "collective-timeout", "quiet-timeout",
                                      "work-timeout",  // each in a test
                                      "stopped-timeout", "start-timeout",      "stall-timeout",
                                      "nodes-timeout",   "node-lease",         "keep-runs",
                                      "keep-days"};  // of its own
  for (const Row& row : rows) {
    INFO(row.option);
    const settings::Option* option = settings::find_run_option(row.option);
    REQUIRE(option != nullptr);
    REQUIRE_FALSE(refuse_value(*option, option->fallback));
    Options read;
    option->put.write(*option, &read, option->fallback);
    CHECK(row.is_same(read, Options{}));
    compared.insert(row.option);
  }
  const std::set<std::string_view> in_words{"cluster", "config",     "max-attempts", "grace",
                                            "devices", "rendezvous", "log-dir",      "run-dir"};
  for (const settings::Option& option : settings::run_options()) {
    INFO(option.name);
    CHECK((compared.contains(option.name) + in_words.contains(option.name) == 1) !=
          option.fallback.empty());
  }
}

TEST_CASE("a command that does not exist may have been a verb", "[verbs]") {
  CHECK(hint_for_command("reprot") == "; did you mean the verb 'report'?");
  CHECK(hint_for_command("kill") == "; safelaunch stop RUN ends a job in order, as TERM does");
  CHECK(hint_for_command("ls") == "; safelaunch runs lists the runs");
  CHECK(hint_for_command("no-shm") == "; to run under that profile: --profile no-shm");
  CHECK(hint_for_command("train.py").empty());
  CHECK(hint_for_command("").empty());
}

TEST_CASE("every option of every verb is written with small letters and dashes", "[verbs]") {
  for (const Verb* verb : verbs())
    for (const settings::Option& option : verb->options) {
      INFO(verb->name << " --" << option.name);
      CHECK(option.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
      CHECK(option.name.front() != '-');
    }
}

TEST_CASE("an option that several verbs have takes the same kind of value in all", "[verbs]") {
  // The ranks of a run are a list, those of a probe a number.
  const std::set<std::string_view> own{"ranks"};
  std::map<std::string_view, const settings::Option*> first;
  for (const Verb* verb : verbs())
    for (const settings::Option& option : verb->options) {
      const auto [seen, is_new] = first.emplace(option.name, &option);
      if (is_new || own.contains(option.name)) continue;
      INFO(verb->name << " --" << option.name);
      CHECK(seen->second->letter == option.letter);
      const bool text_of_a_number = option.name == "nproc-per-node";
      if (!text_of_a_number) CHECK(seen->second->kind == option.kind);
    }
}

TEST_CASE("every example begins with safelaunch, or with what starts it on all nodes", "[verbs]") {
  for (const Verb* verb : verbs()) {
    INFO(verb->name);
    const std::string_view example = verb->example;
    const bool is_typed = example.starts_with("safelaunch") || example.starts_with("eval ");
    CHECK(is_typed);
  }
}

TEST_CASE("a verb whose words are completed lists words that it takes", "[verbs]") {
  for (const std::string_view word : settings::words_of(kProfilesVerb.words)) {
    INFO(word);
    const bool of_one = word == "show" || word == "check" || word == "env";
    const OptionLine words =
        of_one ? OptionLine{std::string(word), "basic"} : OptionLine{std::string(word)};
    CHECK(profiles_wish(words).has_value());
  }
  for (const std::string_view shell : settings::words_of(kCompletionVerb.words))
    CHECK_FALSE(completions(shell).empty());
}
