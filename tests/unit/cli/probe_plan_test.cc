#include "launcher/cli/probe_plan.h"

#include <functional>
#include <set>

#include "catch.h"
#include "launcher/cli/verbs.h"
#include "safelaunch/profile/chain.h"

using namespace safelaunch;
using namespace safelaunch::cli;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;

namespace {

using PlanWords = std::vector<std::string>;

const Environment kNoHome{{"HOME", "/proc/nonexistent"}};

PlanWords chosen(const ProbeOptions& options, const profile::Rules& rules = {}) {
  const auto profiles = choose_profiles(options, rules, kNoHome);
  INFO((profiles ? "" : profiles.error().message));
  REQUIRE(profiles.has_value());
  PlanWords names;
  for (const profile::Profile& one : *profiles) names.push_back(one.name);
  return names;
}

profile::Profile profile_that_sets(const std::string& name, const std::string& variable) {
  profile::Profile made;
  made.name = name;
  made.env[variable] = {"1", {}};
  return made;
}

// Two GPUs, a rank on each, and two profiles.
ProbePlan plan_for_two_gpus() {
  ProbePlan plan;
  plan.environment = {{"PATH", "/bin"}, {"NCCL_DEBUG", "INFO"}};
  plan.profiles = {profile_that_sets("basic", "NCCL_CUMEM_ENABLE"),
                   profile_that_sets("no-shared-memory", "NCCL_SHM_DISABLE")};
  plan.program = "/lib/safelaunch-probe";
  plan.ground.nccl_file = "/lib/libnccl.so.2";
  plan.ground.driver = {gpu::Trouble::none, "", "13.0", {"NVIDIA H100", "NVIDIA H100"}};
  plan.ground.ranks = 2;
  return plan;
}

ProbeOptions options_after(const PlanWords& words) {
  ProbeOptions options;
  const auto read = read_words_of(kProbeVerb, words, &options);
  INFO((read ? "" : read.error().message));
  REQUIRE(read.has_value());
  return options;
}

}  // namespace

TEST_CASE("each option of probe fills the member of its name", "[probe_options]") {
  struct Row {
    std::string_view name;
    std::string_view value;
    std::function<bool(const ProbeOptions&)> is_filled;
  };
  const std::vector<Row> rows{
      {"profile", "a,b",
       [](const auto& o) {
         return o.profiles == PlanWords{"a", "b"};
       }},
      {"all", "true", [](const auto& o) { return o.all; }},
      {"cluster", "lab", [](const auto& o) { return o.cluster == "lab"; }},
      {"config", "f", [](const auto& o) { return o.config == "f"; }},
      {"set", "A=1,2", [](const auto& o) { return o.set == PlanWords{"A=1,2"}; }},
      {"unset", "A", [](const auto& o) { return o.unset == PlanWords{"A"}; }},
      {"ranks", "1024", [](const auto& o) { return o.ranks == 1024; }},
      {"devices", "0,1", [](const auto& o) { return o.devices == "0,1"; }},
      {"nccl", "l", [](const auto& o) { return o.nccl == "l"; }},
      {"driver-timeout", "1s", [](const auto& o) { return o.driver_timeout == 1s; }},
      {"init-timeout", "2s", [](const auto& o) { return o.init_timeout == 2s; }},
      {"collective-timeout", "3s", [](const auto& o) { return o.collective_timeout == 3s; }},
      {"json", "true", [](const auto& o) { return o.json; }},
      {"nnodes", "2", [](const auto& o) { return o.nnodes == 2; }},
      {"node-rank", "1", [](const auto& o) { return o.node_rank == 1; }},
      {"master-addr", "h", [](const auto& o) { return o.master_addr == "h"; }},
      {"master-port", "1", [](const auto& o) { return o.master_port == 1; }},
      {"rendezvous", "none", [](const auto& o) { return o.rendezvous == "none"; }},
      {"token-file", "t", [](const auto& o) { return o.token_file == "t"; }},
      {"nodes-timeout", "4min", [](const auto& o) { return o.nodes_timeout == 4min; }},
      {"html", "p", [](const auto& o) { return o.html == "p"; }},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK_FALSE(row.is_filled(ProbeOptions{}));
    CHECK(row.is_filled(
        options_after({"--" + std::string(row.name) + "=" + std::string(row.value)})));
  }
  CHECK(rows.size() == kProbeVerb.options.size());
}

TEST_CASE("a probe's deadlines are those of its words, and its own where none is given",
          "[probe_plan]") {
  const probe::Limits own = limits_of({});
  const probe::Limits given = limits_of(
      options_after({"--driver-timeout=1s", "--init-timeout=2s", "--collective-timeout=3s"}));
  CHECK(given[probe::Phase::driver] == 1s);
  CHECK(given[probe::Phase::init] == 2s);
  CHECK(given[probe::Phase::first_all_reduce] == 3s);
  CHECK(given[probe::Phase::bandwidth] == own[probe::Phase::bandwidth]);
  CHECK(limits_of(options_after({"--init-timeout=2s"}))[probe::Phase::driver] ==
        own[probe::Phase::driver]);
}

TEST_CASE("the deadlines that probe's help names are those that hold", "[probe_plan]") {
  const probe::Limits own = limits_of({});
  for (const auto& [name, phase] :
       {std::pair{"driver-timeout", probe::Phase::driver},
        std::pair{"init-timeout", probe::Phase::init},
        std::pair{"collective-timeout", probe::Phase::first_all_reduce}}) {
    INFO(name);
    CHECK(settings::find_option(kProbeVerb.options, name)->fallback == format_duration(own[phase]));
  }
}

TEST_CASE("a probe counts nodes as a run does, and says which words did so", "[probe_plan]") {
  const settings::RunOptions wishes =
      meeting_of(options_after({"--nnodes=2", "--node-rank=1", "--master-addr=head",
                                "--master-port=29501", "--rendezvous=file:///nfs"}));
  CHECK(wishes.nnodes == 2);
  CHECK(wishes.node_rank == 1);
  CHECK(wishes.master_addr == "head");
  CHECK(wishes.master_port == 29501);
  CHECK(wishes.rendezvous == "file:///nfs");
  std::vector<std::string> given;
  for (const auto& [name, setting] : wishes.given) {
    given.push_back(name);
    CHECK(setting.origin == "--" + name);
  }
  CHECK(given == PlanWords{"master-addr", "master-port", "nnodes", "node-rank", "rendezvous"});
}

TEST_CASE("a probe that counts no nodes wishes nothing of a meeting", "[probe_plan]") {
  CHECK(meeting_of(options_after({"--all", "--ranks=4"})).given.empty());
}

TEST_CASE("a node of rank 0 is said to be one", "[probe_plan]") {
  const settings::RunOptions wishes = meeting_of(options_after({"--node-rank=0"}));
  CHECK(wishes.node_rank == 0);
  CHECK(wishes.given.contains("node-rank"));
}

TEST_CASE("the profiles enter in order, each with the environment of its ranks", "[probe_plan]") {
  ProbePlan plan = plan_for_two_gpus();
  plan.profiles[1].backend = profile::Backend::gloo;
  plan.profiles[1].processes = 1;
  const std::vector<probe::Entrant> entrants = entrants_of(plan);
  REQUIRE(entrants.size() == 2);
  CHECK(entrants[0].name == "basic");
  CHECK(entrants[0].backend == profile::Backend::keep);
  CHECK_FALSE(entrants[0].processes);
  CHECK(entrants[0].environment.at("NCCL_CUMEM_ENABLE") == "1");
  CHECK_FALSE(entrants[0].environment.contains("NCCL_SHM_DISABLE"));
  CHECK(entrants[1].backend == profile::Backend::gloo);
  CHECK(entrants[1].processes == 1);
  CHECK(entrants[1].environment.at("NCCL_SHM_DISABLE") == "1");
  CHECK(entrants[1].environment.at("PATH") == "/bin");
}

TEST_CASE("a variable of --set stands over the user's, and that over the profile's",
          "[probe_plan]") {
  ProbePlan plan = plan_for_two_gpus();
  plan.overrides =
      profile::parse_overrides(PlanWords{"NCCL_SHM_DISABLE=0"}, PlanWords{"NCCL_DEBUG"}).value();
  const Environment environment = environment_under(plan.profiles[1], plan);
  CHECK(environment.at("NCCL_SHM_DISABLE") == "0");
  CHECK_FALSE(environment.contains("NCCL_DEBUG"));
  plan.overrides = {};
  plan.environment["NCCL_SHM_DISABLE"] = "2";
  CHECK(environment_under(plan.profiles[1], plan).at("NCCL_SHM_DISABLE") == "2");
}

TEST_CASE("a probe seats a rank on each GPU, with the job's NCCL", "[probe_plan]") {
  const ProbePlan plan = plan_for_two_gpus();
  const probe::Spec spec = spec_of(plan, plan.environment);
  CHECK(spec.program == "/lib/safelaunch-probe");
  CHECK(spec.nccl == "/lib/libnccl.so.2");
  REQUIRE(spec.seats.size() == 2);
  CHECK(spec.seats[0].device == 0);
  CHECK(spec.seats[1].device == 1);
  CHECK(spec.limits[probe::Phase::init] == limits_of({})[probe::Phase::init]);
}

TEST_CASE("the column of names is as wide as the longest, and never less than its title",
          "[probe_plan]") {
  CHECK(longest_name({}) == 7);
  CHECK(longest_name(plan_for_two_gpus().profiles) == 16);
  CHECK(longest_name({profile_that_sets("a", "A")}) == 7);
}

TEST_CASE("without a word the chain of a run is probed, or that of the configuration",
          "[probe_plan]") {
  CHECK(chosen({}) == profile::default_chain());
  profile::Rules rules;
  rules.chain = {"no-shm", "basic"};
  CHECK(chosen({}, rules) == rules.chain);
}

TEST_CASE("profiles that are named are probed in their order, whatever the chain is",
          "[probe_plan]") {
  profile::Rules rules;
  rules.chain = {"no-shm"};
  CHECK(chosen(options_after({"-p", "no-p2p,basic"}), rules) == PlanWords{"no-p2p", "basic"});
}

TEST_CASE("of all profiles those of the chain are probed first, and none twice", "[probe_plan]") {
  profile::Rules rules;
  rules.chain = {"no-shm", "basic"};
  const PlanWords all = chosen(options_after({"--all"}), rules);
  REQUIRE(all.size() > 10);
  CHECK(PlanWords(all.begin(), all.begin() + 2) == rules.chain);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("a profile that there is not is told with the nearest", "[probe_plan]") {
  const auto none = choose_profiles(options_after({"-p", "basci"}), {}, kNoHome);
  REQUIRE(none.has_error());
  CHECK(none.error().code == Errc::bad_config);
  CHECK_THAT(none.error().message, Catch::Matchers::ContainsSubstring("did you mean 'basic'?"));
}

TEST_CASE("the Python of the command tells which NCCL is probed, else python3", "[probe_plan]") {
  ProbePlan plan = plan_for_two_gpus();
  CHECK(python_of(plan) == "python3");
  plan.options.command = {"/venv/bin/python", "train.py"};
  CHECK(python_of(plan) == "/venv/bin/python");
  plan.options.command = {"./a-program-of-ones-own"};
  CHECK(python_of(plan) == "python3");
}

TEST_CASE("a profile that sets what an earlier one sets need not be searched", "[probe_plan]") {
  ProbePlan plan = plan_for_two_gpus();
  plan.profiles.push_back(profile_that_sets("basic-again", "NCCL_CUMEM_ENABLE"));
  profile::Profile gloo = profile_that_sets("gloo-only", "A");
  gloo.backend = profile::Backend::gloo;
  plan.profiles.push_back(gloo);
  const std::vector<probe::SearchProfile> searched = profiles_to_search(plan);
  REQUIRE(searched.size() == 4);
  CHECK(searched[0].name == "basic");
  CHECK(searched[0].known.empty());
  CHECK(searched[1].known.empty());
  CHECK_FALSE(searched[2].known.empty());
  CHECK_FALSE(searched[3].known.empty());
}

TEST_CASE("a rank of several nodes gets the profile, and not the agents' token", "[probe_plan]") {
  ProbePlan plan = plan_for_two_gpus();
  plan.environment["SAFELAUNCH_TOKEN"] = "canary";
  const auto spec = spec_for_nodes(plan, "no-shared-memory", {});
  REQUIRE(spec.has_value());
  for (const probe::RankSeat& seat : spec->seats) {
    CHECK(seat.environment.at("NCCL_SHM_DISABLE") == "1");
    CHECK_FALSE(seat.environment.contains("SAFELAUNCH_TOKEN"));
  }
  CHECK(spec->seats.size() == 2);
}

TEST_CASE("a profile that only another node has is told with what to do", "[probe_plan]") {
  const auto spec = spec_for_nodes(plan_for_two_gpus(), "theirs", {});
  REQUIRE(spec.has_error());
  CHECK(spec.error().code == Errc::bad_config);
  CHECK(spec.error().message == "there is no profile theirs here; give all nodes the same options");
}
