#include "safelaunch/job/placement.h"

#include "catch.h"
#include "commands.h"

using namespace safelaunch;
using namespace safelaunch::job;
using safelaunch::testing::command;

namespace {

const Environment kSlurm{{"SLURM_JOB_ID", "4711"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_NODEID", "2"},
                         {"SLURM_STEP_NUM_NODES", "4"},
                         {"SLURM_STEP_TASKS_PER_NODE", "1(x4)"},
                         {"SLURM_STEP_NODELIST", "gpu[01-03,17]"}};

Environment with(Environment environment, const Environment& more) {
  environment.insert(more.begin(), more.end());
  return environment;
}

std::optional<Placement> placed(const std::string& words, const Environment& environment = {}) {
  return find_placement(command(words, environment), std::nullopt, environment);
}

}  // namespace

TEST_CASE("Slurm's short form of host names is taken apart", "[placement]") {
  using Hosts = std::vector<std::string>;
  CHECK(expand_hosts("gpu[01-03,17],login") == Hosts{"gpu01", "gpu02", "gpu03", "gpu17", "login"});
  CHECK(expand_hosts("a,b") == Hosts{"a", "b"});
  CHECK(expand_hosts("n[9-11]x") == Hosts{"n9x", "n10x", "n11x"});
  CHECK(expand_hosts("n[098-101]") == Hosts{"n098", "n099", "n100", "n101"});
  CHECK(expand_hosts("").empty());
  CHECK(expand_hosts("n[3-1]").empty());
  CHECK(expand_hosts("n[1").empty());
  CHECK(expand_hosts("n[a-b]").empty());
  CHECK(expand_hosts("n[1-2][1-2]").empty());
  CHECK(expand_hosts("n[0-99999999]").empty());
  CHECK(expand_hosts("a,,b").empty());
}

TEST_CASE("srun with one task a node tells nodes, this one's number and the hosts", "[placement]") {
  const Starter found = find_starter(kSlurm);
  CHECK(found.name == "Slurm");
  CHECK(found.nodes == 4);
  CHECK(found.node == 2);
  CHECK(found.hosts.back() == "gpu17");
  CHECK(found.job == "slurm-4711.0");
}

TEST_CASE("srun with several tasks a node has started ranks, and no agents", "[placement]") {
  Environment ranks = kSlurm;
  ranks["SLURM_STEP_TASKS_PER_NODE"] = "8(x4)";
  CHECK(find_starter(ranks) == Starter{});
  ranks["SLURM_STEP_TASKS_PER_NODE"] = "1,2";
  CHECK(find_starter(ranks) == Starter{});
}

TEST_CASE("mpirun with one process a node is a starter, with more it is none", "[placement]") {
  Environment mpi{{"OMPI_COMM_WORLD_SIZE", "2"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                  {"OMPI_COMM_WORLD_RANK", "1"},
                  {"PMIX_NAMESPACE", "prte-n1@1"}};
  CHECK(find_starter(mpi).name == "Open MPI");
  CHECK(find_starter(mpi).node == 1);
  CHECK(find_starter(mpi).job == "mpi-prte-n1@1");
  mpi["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  CHECK(find_starter(mpi) == Starter{});
}

TEST_CASE("a pod knows its number by its Job, or by the name that a StatefulSet gave it",
          "[placement]") {
  const Environment pod{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "trainer-3"}};
  CHECK(find_starter(pod).node == 3);
  CHECK(find_starter(with(pod, {{"JOB_COMPLETION_INDEX", "5"}})).node == 5);
  CHECK(find_starter({{"HOSTNAME", "trainer-3"}}) == Starter{});
  CHECK(find_starter({{"KUBERNETES_SERVICE_HOST", "x"}, {"HOSTNAME", "pod"}}) == Starter{});
}

TEST_CASE("torchrun's own words tell the place of a node", "[placement]") {
  const auto place =
      placed("torchrun --nnodes 2 --node_rank=1 --master_addr n0 --master-port 29501 train.py");
  REQUIRE(place);
  CHECK(place->nodes == 2);
  CHECK(place->node == 1);
  CHECK(place->head == "n0");
  CHECK(place->port == 29501);
  CHECK(place->job == "n0:29501");
  CHECK(place->starter.empty());
}

TEST_CASE("with c10d the endpoint is the head, and the node has no number of its own",
          "[placement]") {
  const auto place = placed(
      "torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=[fd00::1]:29400 --rdzv-id 7 t.py");
  REQUIRE(place);
  CHECK_FALSE(place->node);
  CHECK(place->head == "fd00::1");
  CHECK(place->job == "fd00::1:29400/7");
}

TEST_CASE("below srun the scheduler's numbers fill what the command leaves open", "[placement]") {
  const auto place =
      placed("torchrun --nnodes 4 --rdzv-backend c10d --rdzv-endpoint gpu01:29500 t.py", kSlurm);
  REQUIRE(place);
  CHECK(place->node == 2);
  CHECK(place->starter == "Slurm");
  CHECK(place->job == "slurm-4711.0");
  CHECK(place->hosts.size() == 4);

  const auto fewer = placed("torchrun --nnodes 2 --node-rank 0 --master-addr gpu01 t.py", kSlurm);
  REQUIRE(fewer);
  CHECK(fewer->starter.empty());  // not every node of the step has an agent of this job
  CHECK(fewer->node == 0);
}

TEST_CASE("a job of one node, and an elastic one, have no place among others", "[placement]") {
  CHECK_FALSE(placed("torchrun --nproc_per_node 8 t.py"));
  CHECK_FALSE(placed("torchrun --nnodes 1:4 --rdzv-endpoint a:1 t.py"));
  CHECK_FALSE(placed("python t.py", kSlurm));
}

TEST_CASE("the place of workers that safelaunch spawns comes from its options", "[placement]") {
  SpawnPlan spawn;
  spawn.nodes = 2;
  spawn.node_rank = 1;
  spawn.master_addr = "10.0.0.1";
  const auto place = find_placement(command("python train.py"), spawn, {});
  REQUIRE(place);
  CHECK(place->node == 1);
  CHECK(place->head == "10.0.0.1");
  CHECK(place->port == 29500);
}
