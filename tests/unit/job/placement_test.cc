#include "safelaunch/job/placement.h"

#include "catch.h"
#include "commands.h"

using namespace safelaunch;
using namespace safelaunch::job;
using safelaunch::testing::command;
using safelaunch::testing::Files;

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

TEST_CASE("the launcher's variables and its configuration place a node as its options do",
          "[placement]") {
  struct Row {
    const char* words;
    Environment environment;
    std::optional<int> node;
    const char* head;
    const char* job;
  };
  const Files files = {{"c",
                        "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\n"
                        "machine_rank: 1\nmain_process_ip: n0\nmain_process_port: 29600\n"},
                       {"h", "n0 slots=8\nn1 slots=8\n"}};
  const Row rows[] = {
      {"torchrun t.py",
       {{"PET_NNODES", "2"},
        {"PET_NODE_RANK", "1"},
        {"PET_MASTER_ADDR", "n0"},
        {"PET_MASTER_PORT", "29600"}},
       1,
       "n0",
       "n0:29600"},
      {"torchrun --nnodes 2 t.py",
       {{"PET_RDZV_BACKEND", "c10d"}, {"PET_RDZV_ENDPOINT", "n0:29600"}, {"PET_RDZV_ID", "7"}},
       std::nullopt,
       "n0",
       "n0:29600/7"},
      {"env PET_NODE_RANK=1 torchrun --nnodes 2 --master-addr n0 t.py",
       {{"PET_NODE_RANK", "0"}},
       1,
       "n0",
       "n0:29500"},
      {"torchrun --nnodes 2 --node_rank 0 --node-rank=1 --master_addr a --master-addr n0 t.py",
       {{"NODE_RANK", "0"}, {"MASTER_ADDR", "b"}},
       1,
       "n0",
       "n0:29500"},
      {"torchrun --nnodes 2 --node_r 1 --master_a n0 t.py", {}, 1, "n0", "n0:29500"},
      {"torchrun --nnodes 2 t.py",
       {{"NODE_RANK", "1"}, {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29600"}},
       1,
       "n0",
       "n0:29600"},
      {"torchrun --nnodes 2 t.py --node_rank 1", {{"GROUP_RANK", "0"}}, 0, "", ":29500"},
      {"accelerate launch --config_file c t.py", {}, 1, "n0", "n0:29600"},
      {"accelerate launch --config_file c --machine_rank 0 --main-process-ip n9 t.py",
       {},
       0,
       "n9",
       "n9:29600"},
      {"deepspeed --no_ssh --node_rank 1 --master_addr n0 -H h t.py", {}, 1, "n0", "n0:29500"},
      {"ft_launcher --nnodes 2 --node-rank 1 --rdzv-endpoint n0:1 t.py", {}, 1, "n0", "n0:1"},
  };
  for (const Row& row : rows) {
    INFO(row.words);
    const auto place =
        find_placement(command(row.words, row.environment, files), std::nullopt, row.environment);
    REQUIRE(place);
    CHECK(place->nodes == 2);
    CHECK(place->node == row.node);
    CHECK(place->head == row.head);
    CHECK(place->job == row.job);
  }
}

TEST_CASE("an option of a command whose script is hidden is looked for in all its words",
          "[placement]") {
  const auto option = [](const char* words) {
    return launcher_option(command(words), {"--node-rank", "--machine-rank"});
  };
  CHECK(option("./start.sh --node_rank 1") == "1");
  CHECK(option("./start.sh --node-rank=1 --node_rank=2") == "2");
  CHECK(option("torchrun --new x --node-rank 1 t.py") == "1");
  CHECK(option("./start.sh --node-rank").empty());
  CHECK(option("./start.sh --node-rank=").empty());
  CHECK(option("python t.py --node-rank 1").empty());
  CHECK(option("torchrun t.py --node-rank 1").empty());
}

TEST_CASE("the head of an endpoint is its host, however it is written", "[placement]") {
  const auto head = [](const std::string& endpoint) {
    return placed("torchrun --nnodes 2 --rdzv-endpoint=" + endpoint + " t.py").value().head;
  };
  CHECK(head("n0") == "n0");
  CHECK(head("n0:5") == "n0");
  CHECK(head("n0:") == "n0");
  CHECK(head("10.0.0.1:5") == "10.0.0.1");
  CHECK(head("[fd00::1]") == "fd00::1");
  CHECK(head("[fd00::1]:5") == "fd00::1");
  CHECK(head("[fd00::1") == "fd00::1");
  CHECK(head(":5").empty());
}

TEST_CASE("a scheduler's variable that is damaged is no starter, or tells less", "[placement]") {
  const auto slurm = [](const char* name, const char* value) {
    Environment environment = kSlurm;
    environment[name] = value;
    return find_starter(environment);
  };
  for (const char* tasks : {"", "2", "1,1", "1(x2),2", "11", "x"}) {
    INFO(tasks);
    CHECK(slurm("SLURM_STEP_TASKS_PER_NODE", tasks) == Starter{});
  }
  CHECK(slurm("SLURM_STEP_NUM_NODES", "x") == Starter{});
  CHECK(slurm("SLURM_STEP_NUM_NODES", "99999999999") == Starter{});
  CHECK_FALSE(slurm("SLURM_NODEID", "x").node);
  CHECK(slurm("SLURM_STEP_NODELIST", "gpu[").hosts.empty());
  CHECK(slurm("SLURM_STEP_TASKS_PER_NODE", "1").name == "Slurm");

  const Environment mpi{{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
  CHECK(find_starter(mpi) == Starter{.name = "Open MPI", .nodes = 2});
  CHECK(find_starter({{"OMPI_COMM_WORLD_SIZE", "x"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}) ==
        Starter{});
}

TEST_CASE("a pod's own number of nodes counts where something tells it", "[placement]") {
  const Environment pod{{"KUBERNETES_SERVICE_HOST", "x"}, {"HOSTNAME", "trainer-0"}};
  CHECK(find_starter(pod).nodes == 0);
  CHECK(find_starter(with(pod, {{"NNODES", "2"}})).nodes == 2);
  CHECK(find_starter(with(pod, {{"NNODES", "x"}})).nodes == 0);
  Environment unnumbered = pod;
  unnumbered["HOSTNAME"] = "trainer-";
  CHECK(find_starter(unnumbered) == Starter{});
  unnumbered["JOB_COMPLETION_INDEX"] = "3";
  CHECK(find_starter(unnumbered).node == 3);
}

TEST_CASE("of two schedulers Slurm is asked first, since mpirun runs below it", "[placement]") {
  CHECK(find_starter(
            with(kSlurm, {{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}))
            .name == "Slurm");
}

TEST_CASE("a node's number comes from what started it, then from what people set", "[placement]") {
  CHECK(node_told({.name = "Slurm", .node = 3}, {{"NODE_RANK", "1"}}) == 3);
  CHECK(node_told({}, {{"NODE_RANK", "1"}, {"GROUP_RANK", "2"}}) == 1);
  CHECK(node_told({}, {{"NODE_RANK", "x"}, {"GROUP_RANK", "2"}}) == 2);
  CHECK_FALSE(node_told({}, {}));
}

TEST_CASE("a list of hosts is bounded, in hosts and in digits", "[placement]") {
  CHECK(expand_hosts("n[1-100000]").size() == 100'000);
  CHECK(expand_hosts("n[0-100000]").empty());
  CHECK(expand_hosts("a,n[1-100000]").empty());
  CHECK(expand_hosts("n[4294967294-4294967295]") ==
        std::vector<std::string>{"n4294967294", "n4294967295"});
  CHECK(expand_hosts("n[2147483647]") == std::vector<std::string>{"n2147483647"});
  CHECK(expand_hosts("n[4294967296]").empty());
  CHECK(expand_hosts("n[" + std::string(10, '0') + "]").size() == 1);
  CHECK(expand_hosts("n[" + std::string(11, '0') + "]").empty());
}

TEST_CASE("a list of hosts that is no such list names none", "[placement]") {
  for (const char* list : {",", "a,", ",a", "n[]", "n[,]", "n[1,]", "n[-1]", "n[1-]", "n[1--2]",
                           "n[1-2-3]", "n]1[", "n[1]2[3]", "n[1 ]", "n[+1]"}) {
    INFO(list);
    CHECK(expand_hosts(list).empty());
  }
  CHECK(expand_hosts("n[1]") == std::vector<std::string>{"n1"});
  CHECK(expand_hosts("n[1],m[2],x") == std::vector<std::string>{"n1", "m2", "x"});
  CHECK(expand_hosts("n[1-1]-ib") == std::vector<std::string>{"n1-ib"});
}
