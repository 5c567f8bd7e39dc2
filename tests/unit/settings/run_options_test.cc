#include "safelaunch/settings/run_options.h"

#include <functional>
#include <set>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::settings;
using std::chrono_literals::operator""s;

namespace {

using RunWords = std::vector<std::string>;

const Option& run_option(std::string_view name) {
  const Option* option = find_run_option(name);
  INFO(name);
  REQUIRE(option != nullptr);
  return *option;
}

RunOptions with_option(std::string_view name, std::string_view value) {
  RunOptions options;
  const Option& option = run_option(name);
  INFO(name << " " << value);
  REQUIRE_FALSE(refuse_value(option, value));
  option.put.write(option, &options, value);
  return options;
}

Settings typed(const std::map<std::string, std::string>& given) {
  Settings settings;
  for (const auto& [name, value] : given) settings[name] = {value, "--" + name};
  return settings;
}

RunWords words_of_given(const Settings& given) {
  RunOptions options;
  options.given = given;
  return words_given(options);
}

}  // namespace

TEST_CASE("each option of a run fills the member of its name", "[run_options]") {
  struct Row {
    std::string_view name;
    std::string_view value;
    std::function<bool(const RunOptions&)> is_filled;
  };
  const std::vector<Row> rows{
      {"profile", "a,b",
       [](const auto& o) {
         return o.profiles == RunWords{"a", "b"};
       }},
      {"cluster", "lab", [](const auto& o) { return o.cluster == "lab"; }},
      {"config", "f.yaml", [](const auto& o) { return o.config == "f.yaml"; }},
      {"max-attempts", "3", [](const auto& o) { return o.max_attempts == 3; }},
      {"only", "1", [](const auto& o) { return o.only; }},
      {"fail-on-slow", "1", [](const auto& o) { return o.fail_on_slow; }},
      {"forget", "1", [](const auto& o) { return o.forget; }},
      {"interactive", "1", [](const auto& o) { return o.interactive; }},
      {"init-timeout", "1s", [](const auto& o) { return o.init_timeout == 1s; }},
      {"collective-timeout", "2s", [](const auto& o) { return o.collective_timeout == 2s; }},
      {"quiet-timeout", "3s", [](const auto& o) { return o.quiet_timeout == 3s; }},
      {"work-timeout", "4s", [](const auto& o) { return o.work_timeout == 4s; }},
      {"stopped-timeout", "8s", [](const auto& o) { return o.stopped_timeout == 8s; }},
      {"start-timeout", "5s", [](const auto& o) { return o.start_timeout == 5s; }},
      {"stall-timeout", "6s", [](const auto& o) { return o.stall_timeout == StallTimeout{6s}; }},
      {"grace", "7s", [](const auto& o) { return o.grace == 7s; }},
      {"clean", "off", [](const auto& o) { return o.clean == CleanPolicy::off; }},
      {"port", "1-2",
       [](const auto& o) {
         return o.port == PortWish{PortWish::How::range, {1, 2}};
       }},
      {"probe", "always", [](const auto& o) { return o.probe == WhenToProbe::always; }},
      {"no-preflight", "1", [](const auto& o) { return !o.preflight && o.hook && o.plugin; }},
      {"no-hook", "1", [](const auto& o) { return !o.hook && o.plugin && o.preflight; }},
      {"no-plugin", "1", [](const auto& o) { return !o.plugin && o.hook && o.preflight; }},
      {"nproc-per-node", "gpu", [](const auto& o) { return o.nproc_per_node == "gpu"; }},
      {"devices", "0,1", [](const auto& o) { return o.devices == "0,1"; }},
      {"nnodes", "2", [](const auto& o) { return o.nnodes == 2; }},
      {"node-rank", "1", [](const auto& o) { return o.node_rank == 1; }},
      {"start-rank", "8", [](const auto& o) { return o.start_rank == 8; }},
      {"world-size", "16", [](const auto& o) { return o.world_size == 16; }},
      {"master-addr", "h", [](const auto& o) { return o.master_addr == "h"; }},
      {"master-port", "65535", [](const auto& o) { return o.master_port == 65535; }},
      {"binding", "numa", [](const auto& o) { return o.binding == CpuBinding::numa; }},
      {"rendezvous", "none", [](const auto& o) { return o.rendezvous == "none"; }},
      {"token-file", "t", [](const auto& o) { return o.token_file == "t"; }},
      {"module", "1", [](const auto& o) { return o.module; }},
      {"set", "A=1,2", [](const auto& o) { return o.set == RunWords{"A=1,2"}; }},
      {"unset", "A", [](const auto& o) { return o.unset == RunWords{"A"}; }},
      {"ranks", "0,3", [](const auto& o) { return o.ranks == "0,3"; }},
      {"prefix", "1", [](const auto& o) { return o.prefix; }},
      {"rank-files", "1", [](const auto& o) { return o.rank_files; }},
      {"log-dir", "l", [](const auto& o) { return o.log_dir == "l"; }},
      {"run-dir", "r", [](const auto& o) { return o.run_dir == "r"; }},
      {"node-lease", "40s", [](const auto& o) { return o.node_lease == 40s; }},
      {"nodes-timeout", "5s", [](const auto& o) { return o.nodes_timeout == 5s; }},
      {"notify", "x", [](const auto& o) { return o.notify == "x"; }},
      {"metrics", "x.prom", [](const auto& o) { return o.metrics == "x.prom"; }},
      {"keep-runs", "0", [](const auto& o) { return o.keep_runs == 0; }},
      {"keep-days", "9", [](const auto& o) { return o.keep_days == 9; }},
      {"dry-run", "1", [](const auto& o) { return o.dry_run; }},
      {"json", "1", [](const auto& o) { return o.json; }},
      {"color", "always", [](const auto& o) { return o.colour == ColourWish::always; }},
      {"no-color", "1", [](const auto& o) { return o.colour == ColourWish::never; }},
      {"verbose", "1", [](const auto& o) { return o.verbosity == Verbosity::verbose; }},
      {"quiet", "1", [](const auto& o) { return o.verbosity == Verbosity::quiet; }},
  };
  std::set<std::string_view> told;
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(told.insert(row.name).second);
    CHECK_FALSE(row.is_filled(RunOptions{}));
    CHECK(row.is_filled(with_option(row.name, row.value)));
  }
  CHECK(told.size() == run_options().size());
}

TEST_CASE("a flag that is taken back leaves what holds without it", "[run_options]") {
  for (const Option& option : run_options()) {
    if (option.kind != OptionKind::flag) continue;
    INFO(option.name);
    const RunOptions none;
    const RunOptions back = with_option(option.name, "false");
    CHECK(back.only == none.only);
    CHECK(back.hook == none.hook);
    CHECK(back.plugin == none.plugin);
    CHECK(back.preflight == none.preflight);
    CHECK(back.colour == none.colour);
    CHECK(back.json == none.json);
    CHECK(back.dry_run == none.dry_run);
    CHECK(back.verbosity == none.verbosity);
  }
}

TEST_CASE("JSON is asked for with a file as without one", "[run_options]") {
  for (const char* value : {"true", "on", "/dev/fd/3", "out.json", "maybe"})
    CHECK(with_option("json", value).json);
  for (const char* value : {"false", "0", "no"}) CHECK_FALSE(with_option("json", value).json);
}

TEST_CASE("the counts of a run begin and end where they make sense", "[run_options]") {
  struct Row {
    std::string_view name;
    std::vector<std::string_view> inside;
    std::vector<std::string_view> outside;
  };
  for (const Row& row :
       {Row{"max-attempts", {"1", "1000"}, {"0", "1001"}},
        Row{"nnodes", {"1", "100000"}, {"0", "100001"}},
        Row{"node-rank", {"0", "1000000"}, {"-1", "1000001"}}, Row{"start-rank", {"0"}, {"-1"}},
        Row{"world-size", {"1", "1000000"}, {"0", "1000001"}},
        Row{"master-port", {"1", "65535"}, {"0", "65536"}}, Row{"keep-runs", {"0"}, {"-1"}},
        Row{"keep-days", {"0"}, {"-1"}}}) {
    INFO(row.name);
    for (const auto value : row.inside) CHECK_FALSE(refuse_value(run_option(row.name), value));
    for (const auto value : row.outside) CHECK(refuse_value(run_option(row.name), value));
  }
}

TEST_CASE("the letters of a run are few", "[run_options]") {
  std::map<char, std::string_view> letters;
  for (const Option& option : run_options())
    if (option.letter != 0) letters[option.letter] = option.name;
  CHECK(letters == std::map<char, std::string_view>{
                       {'p', "profile"}, {'m', "module"}, {'v', "verbose"}, {'q', "quiet"}});
}

TEST_CASE("only what is one command's own is given on the command line alone", "[run_options]") {
  std::map<OptionScope, std::set<std::string_view>> scopes;
  for (const Option& option : run_options()) scopes[option.scope].insert(option.name);
  CHECK(scopes[OptionScope::line] == std::set<std::string_view>{"module", "set", "unset"});
  CHECK(scopes[OptionScope::environment] ==
        std::set<std::string_view>{"cluster", "config", "forget", "profile"});
  CHECK(scopes[OptionScope::profile] ==
        std::set<std::string_view>{"clean", "grace", "no-hook", "no-plugin", "port", "probe"});
}

TEST_CASE("the fallback that help names is a value of its option", "[run_options]") {
  for (const char* name : {"init-timeout", "collective-timeout", "quiet-timeout", "work-timeout",
                           "stopped-timeout", "start-timeout", "stall-timeout", "clean", "port",
                           "probe", "binding", "ranks", "keep-runs", "keep-days", "profile"}) {
    INFO(name);
    CHECK_FALSE(refuse_value(run_option(name), run_option(name).fallback));
  }
}

TEST_CASE("rivals name each other", "[run_options]") {
  for (const Option& option : run_options()) {
    if (option.rival.empty()) continue;
    INFO(option.name);
    CHECK(run_option(option.rival).rival == option.name);
    CHECK(option.kind == OptionKind::flag);
  }
}

TEST_CASE("an option is told as one word with its value", "[run_options]") {
  struct Row {
    std::string_view what;
    Settings given;
    RunWords words;
  };
  for (const Row& row :
       {Row{"nothing", {}, {}},
        Row{"a value", typed({{"init-timeout", "4s"}}), {"--init-timeout=4s"}},
        Row{"several", typed({{"port", "keep"}, {"grace", "0"}}), {"--grace=0", "--port=keep"}},
        Row{"blanks", typed({{"log-dir", "my runs"}}), {"--log-dir=my runs"}},
        Row{"a flag", typed({{"only", "true"}}), {"--only"}},
        Row{"a flag that is taken back", typed({{"only", "false"}}), {"--only=false"}},
        Row{"another word for true", typed({{"only", "yes"}}), {"--only=yes"}},
        Row{"JSON", typed({{"json", "true"}}), {"--json"}},
        Row{"JSON in a file", typed({{"json", "/tmp/x"}}), {"--json=/tmp/x"}},
        Row{"an option that is gone", typed({{"no-such", "1"}}), {}}}) {
    INFO(row.what);
    CHECK(words_of_given(row.given) == row.words);
  }
}

TEST_CASE("settings of other places are not told as words of the command line", "[run_options]") {
  CHECK(words_of_given({{"port", {"keep", "SAFELAUNCH_PORT"}},
                        {"grace", {"5s", "safelaunch.yaml:3:9"}},
                        {"only", {"true", "--only"}}}) == RunWords{"--only"});
}

TEST_CASE("each variable is told as a word of its own, in the order of the command line",
          "[run_options]") {
  RunOptions options;
  options.given = typed({{"set", "B=1,2,A="}, {"unset", "C,D"}, {"only", "true"}});
  options.set = {"B=1,2", "A="};
  options.unset = {"C", "D"};
  CHECK(words_given(options) ==
        RunWords{"--only", "--set=B=1,2", "--set=A=", "--unset=C", "--unset=D"});
}

TEST_CASE("variables that nobody typed are not told", "[run_options]") {
  RunOptions options;
  options.set = {"A=1"};
  options.unset = {"B"};
  CHECK(words_given(options).empty());
}
