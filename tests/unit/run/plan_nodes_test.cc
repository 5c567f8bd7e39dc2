#include "catch.h"
#include "planned.h"
#include "safelaunch/base/strings.h"
#include "temporary_folder.h"

// What a plan says of the other nodes of a job, and where a verb meets them that starts none.
using namespace safelaunch;

using namespace safelaunch::plan;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;
using namespace std::chrono_literals;

namespace {

int node_rank(settings::RunOptions options, Environment environment) {
  const auto made = planned(std::move(options), {}, std::move(environment));
  REQUIRE(made.has_value());
  return made->spawn->node_rank;
}

const Environment kSlurmStep{{"HOME", "/proc/nonexistent"},
                             {"SLURM_STEP_NUM_NODES", "4"},
                             {"SLURM_STEP_TASKS_PER_NODE", "1(x4)"},
                             {"SLURM_NODEID", "2"},
                             {"SLURM_STEP_NODELIST", "gpu[1-4]"},
                             {"SLURM_JOB_ID", "47"},
                             {"SLURM_STEP_ID", "0"}};

Result<std::optional<PartyPlan>> meeting(settings::RunOptions wishes,
                                         const Environment& environment = {}) {
  return plan_meeting(std::move(wishes), {}, environment, "probe");
}

}  // namespace

TEST_CASE("the number of a node that spawns its ranks is its starter's, where there are several",
          "[plan]") {
  const Environment pod{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "training-2"}};
  settings::RunOptions four = spawning("2");
  four.nnodes = 4;
  four.master_addr = "training-0.training";
  CHECK(node_rank(four, pod) == 2);
  CHECK(node_rank(four, {{"NODE_RANK", "3"}}) == 3);
  CHECK(node_rank(four, {{"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                         {"OMPI_COMM_WORLD_RANK", "1"}}) == 1);
  four.node_rank = 1;
  CHECK(node_rank(four, pod) == 1);
  // A starter of another number of nodes says nothing of these.
  four.node_rank.reset();
  CHECK(node_rank(four, {{"OMPI_COMM_WORLD_SIZE", "8"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                         {"OMPI_COMM_WORLD_RANK", "5"}}) == 0);
}

TEST_CASE("what DeepSpeed would hand to other hosts by ssh is set where an agent starts each",
          "[plan]") {
  const TemporaryFolder home;
  home.write(".deepspeed_env", "# ours\nNCCL_IB_DISABLE=1\nNCCL_SOCKET_IFNAME=eth1\n");
  home.write("hosts", "a slots=2\nb slots=2\n");
  const Environment user{{"HOME", home / ""}, {"NCCL_IB_DISABLE", "0"}};
  const auto made = planned(options_for({"deepspeed", "--no_ssh", "--hostfile", home / "hosts",
                                         "--node_rank", "1", "--master_addr", "a", "train.py"}),
                            {}, user);
  REQUIRE(made.has_value());
  const auto applied = made->environment_under(made->chain.front());
  const Environment& environment = applied.environment;
  CHECK(environment.at("NCCL_SOCKET_IFNAME") == "eth1");
  const auto told =
      std::ranges::find(applied.differences, "NCCL_SOCKET_IFNAME", &profile::Difference::name);
  REQUIRE(told != applied.differences.end());
  CHECK_THAT(told->why, ContainsSubstring(".deepspeed_env:3"));
  CHECK(environment.at("NCCL_IB_DISABLE") == "0");  // a variable that is set here counts more
  const auto alone = planned(options_for({"deepspeed", "--num_gpus", "2", "train.py"}), {}, user);
  REQUIRE(alone.has_value());
  CHECK_FALSE(
      alone->environment_under(alone->chain.front()).environment.contains("NCCL_SOCKET_IFNAME"));
}

TEST_CASE("a job of one node runs in a pod whose name ends with a number", "[plan]") {
  const Environment pod{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "jupyter-7"}};
  CHECK(node_rank(spawning("2"), pod) == 0);
}

TEST_CASE("a lease is of 5s to 1h, and its margin grows with it", "[plan]") {
  const auto terms = [](const char* lease) -> Result<agree::Terms> {
    settings::RunOptions options = spawning("2");
    options.nnodes = 2;
    options.master_addr = "10.0.0.1";
    options.node_lease = parse_duration(lease).value();
    options.given["node-lease"] = {lease, "--node-lease"};
    const auto plan = planned(options);
    if (!plan) return plan.error();
    return plan->party.value().terms;
  };
  CHECK(terms("10s")->kill_margin == agree::Terms().kill_margin);
  CHECK(terms("1min")->lease == 60s);
  CHECK(terms("10min")->kill_margin == 13s);
  for (const char* lease : {"4s", "2h"})
    CHECK_THAT(terms(lease).error().message,
               Equals(std::string("--node-lease ") + lease + ": it can be 5s to 1h"));
}

TEST_CASE("options for agents are told to have no effect where there are no other nodes",
          "[plan]") {
  settings::RunOptions options = spawning("2");
  options.token_file = "/proc/nonexistent/token";
  options.given["token-file"] = {options.token_file, "--token-file"};
  options.given["nodes-timeout"] = {"1s", "--nodes-timeout"};
  const auto alone = planned(options);
  REQUIRE(alone.has_value());
  CHECK_THAT(join(alone->warnings, "\n"), ContainsSubstring("--token-file has no effect"));
  CHECK_THAT(join(alone->warnings, "\n"), ContainsSubstring("--nodes-timeout has no effect"));
  options.nnodes = 2;
  options.master_addr = "10.0.0.1";
  const auto several = planned(options);
  REQUIRE(several.has_value());
  CHECK_THAT(join(several->warnings, "\n"), !ContainsSubstring("has no effect"));
}

TEST_CASE("other nodes start the rest of a job of several", "[plan]") {
  CHECK(planned(options_for({"torchrun", "--nnodes=2", "--node-rank=0", "--nproc-per-node=1",
                             "--master-addr=n0", "train.py"}))
            ->others_start_ranks());
  CHECK_FALSE(planned(options_for(kTorchrun))->others_start_ranks());
  CHECK_FALSE(planned(options_for({"mpirun", "-n", "4", "python", "x.py"}))->others_start_ranks());
  CHECK(planned(options_for({"mpirun", "-n", "4", "python", "x.py"}), {}, {{"RANK", "1"}})
            ->others_start_ranks());
}

TEST_CASE(
    "a verb that Slurm starts on each node meets the others as a job would, under a name of "
    "its own",
    "[plan]") {
  const auto party = meeting({}, kSlurmStep);
  REQUIRE(party.has_value());
  REQUIRE(party->has_value());
  CHECK((*party)->placement.nodes == 4);
  CHECK((*party)->placement.node == 2);
  CHECK((*party)->placement.head == "gpu1");
  CHECK((*party)->placement.job == "slurm-47.0/probe");
  CHECK(to_string((*party)->address) == "tcp://gpu1:19500");
}

TEST_CASE("on one node nobody is met", "[plan]") {
  CHECK_FALSE(meeting({})->has_value());
  settings::RunOptions one;
  one.nnodes = 1;
  CHECK_FALSE(meeting(one)->has_value());
  CHECK_FALSE(meeting(one, kSlurmStep)->has_value());
  settings::RunOptions none;
  none.rendezvous = "none";
  CHECK_FALSE(meeting(none, kSlurmStep)->has_value());
  Environment alone = kSlurmStep;
  alone["SLURM_STEP_NUM_NODES"] = "1";
  alone["SLURM_STEP_TASKS_PER_NODE"] = "1";
  alone["SLURM_NODEID"] = "0";
  CHECK_FALSE(meeting({}, alone)->has_value());
}

TEST_CASE("two nodes that nothing tells where to meet are an error; a folder is place enough",
          "[plan]") {
  settings::RunOptions two;
  two.nnodes = 2;
  two.node_rank = 1;
  const auto lost = meeting(two);
  REQUIRE(lost.has_error());
  CHECK_THAT(lost.error().message, ContainsSubstring("--master-addr"));
  two.rendezvous = "file:///shared";
  const auto met = meeting(two);
  REQUIRE(met.has_value());
  REQUIRE(met->has_value());
  CHECK((*met)->address.folder == "/shared");
  CHECK((*met)->nodes_within == std::chrono::minutes(10));
  two.nodes_timeout = Duration(0);
  CHECK((*meeting(two))->nodes_within > std::chrono::hours(24));
  two.node_rank = 2;
  CHECK(meeting(two).has_error());
}
