#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;

namespace {

/// A rank that somebody else has started, in this environment.
doctor::HostFacts rank_in(Environment environment) {
  doctor::HostFacts facts = healthy_host();
  facts.subject.environment = std::move(environment);
  facts.world = doctor::world_of(facts.subject);
  return facts;
}

const Environment kWhole{{"RANK", "1"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "29500"}};

Environment with(const char* name, const char* value) {
  Environment environment = kWhole;
  environment[name] = value;
  return environment;
}

Environment without(const char* name) {
  Environment environment = kWhole;
  environment.erase(name);
  return environment;
}

job::Command command_of(std::vector<std::string> argv) {
  return job::recognise(std::move(argv), {}, [](const std::string&) { return job::FileAt{}; });
}

}  // namespace

TEST_CASE("a world that is whole has no findings", "[doctor][world]") {
  CHECK(outline(rank_in(kWhole)) == Lines{});
  CHECK(rank_in(kWhole).world.nodes == 2);
}

TEST_CASE("RANK without WORLD_SIZE blocks", "[doctor][world]") {
  const doctor::HostFacts facts = rank_in(without("WORLD_SIZE"));
  CHECK(outline(facts) == Lines{"world-variables blocks"});
  CHECK(first_finding(facts).evidence == "RANK=1 is set, but not WORLD_SIZE");
}

TEST_CASE("a lone RANK may be left over, and is a risk only", "[doctor][world]") {
  CHECK(outline(rank_in({{"RANK", "0"}})) == Lines{"world-variables risk"});
}

TEST_CASE("an address alone is what people set for scripts that spawn", "[doctor][world]") {
  CHECK(outline(rank_in({{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}})) == Lines{});
}

TEST_CASE("a rank beyond the world blocks", "[doctor][world]") {
  const doctor::HostFacts facts = rank_in(with("RANK", "4"));
  CHECK(outline(facts) == Lines{"world-variables blocks"});
  CHECK(first_finding(facts).evidence == "RANK=4, and WORLD_SIZE=4 means 0 to 3");
}

TEST_CASE("what is no number is told once", "[doctor][world]") {
  const doctor::HostFacts facts = rank_in(with("WORLD_SIZE", "four"));
  CHECK(outline(facts) == Lines{"world-variables blocks"});
  CHECK(first_finding(facts).evidence == "WORLD_SIZE=four is no number");
}

TEST_CASE("more ranks on a node than in the world block", "[doctor][world]") {
  CHECK(outline(rank_in(with("LOCAL_WORLD_SIZE", "8"))) == Lines{"world-variables blocks"});
}

TEST_CASE("a LOCAL_RANK beyond the GPUs is a risk", "[doctor][world]") {
  doctor::HostFacts facts = rank_in(with("CUDA_VISIBLE_DEVICES", "0"));
  CHECK(outline(facts) == Lines{"device-ordinal risk"});
}

TEST_CASE("a launcher gives its ranks other variables, so the old ones mean nothing",
          "[doctor][world]") {
  doctor::HostFacts facts = rank_in(without("WORLD_SIZE"));
  facts.subject.command = command_of({"torchrun", "--nproc-per-node", "2", "train.py"});
  CHECK(outline(facts) == Lines{});
  facts.subject.command = command_of({"python", "train.py"});
  CHECK(outline(facts) == Lines{"world-variables blocks"});
}

TEST_CASE("the master of a launcher is taken from its options", "[doctor][world]") {
  doctor::Subject subject;
  subject.environment = {{"MASTER_ADDR", "elsewhere"}};
  subject.command = command_of({"torchrun", "--nnodes=2", "--node_rank=1", "--master_addr", "node0",
                                "--master_port=29501", "train.py", "--master_addr", "not-this"});
  const doctor::World world = doctor::world_of(subject);
  CHECK(world.master_address == "node0");
  CHECK(world.master_port == 29501);
  CHECK(world.nodes == 2);
  CHECK(world.node_rank == 1);
}

TEST_CASE("the master of a c10d rendezvous is its endpoint's host", "[doctor][world]") {
  doctor::Subject subject;
  subject.command = command_of({"torchrun", "--nnodes=2", "--rdzv-backend=c10d",
                                "--rdzv-endpoint=[fd00::4]:29400", "train.py"});
  CHECK(doctor::world_of(subject).master_address == "fd00::4");
}

TEST_CASE("JAX needs all of Slurm's variables or none", "[doctor][world]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.environment = {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "2"}};
  CHECK(outline(facts) == Lines{});
  facts.imports_jax = true;
  CHECK(outline(facts) == Lines{"slurm-half risk"});
}

TEST_CASE("every variable of the world that is no number is told by its name", "[doctor][world]") {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK",
                           "GROUP_RANK", "MASTER_PORT"})
    for (const char* value : {"", "-1", "1.0", " 1", "0x1", "one"}) {
      const doctor::HostFacts facts = rank_in(with(name, value));
      CAPTURE(name, value);
      CHECK(outline(facts) == Lines{"world-variables blocks"});
      CHECK(first_finding(facts).evidence == std::string(name) + "=" + value + " is no number");
    }
}

TEST_CASE("several variables that are no numbers are told each", "[doctor][world]") {
  Environment environment = with("RANK", "x");
  environment["WORLD_SIZE"] = "y";
  CHECK(outline(rank_in(environment)) == Lines{"world-variables blocks", "world-variables blocks"});
}

TEST_CASE("all that is missing of a world is told at once", "[doctor][world]") {
  const doctor::HostFacts facts = rank_in({{"RANK", "0"}, {"MASTER_ADDR", "node0"}});
  CHECK(first_finding(facts).severity == Severity::blocks);
  CHECK(first_finding(facts).evidence == "RANK=0 is set, but not WORLD_SIZE, MASTER_PORT");
  CHECK(first_finding(facts).remedy ==
        "export WORLD_SIZE, MASTER_PORT too, or unset RANK; torchrun sets them all");
}

TEST_CASE("a local rank beyond its node blocks", "[doctor][world]") {
  doctor::HostFacts facts = rank_in(with("LOCAL_RANK", "2"));
  facts.gpus = 0;
  CHECK(outline(facts) == Lines{"world-variables blocks"});
  CHECK(first_finding(facts).evidence == "LOCAL_RANK=2, and LOCAL_WORLD_SIZE=2 means 0 to 1");
  facts = rank_in(with("LOCAL_WORLD_SIZE", "4"));
  CHECK(outline(facts) == Lines{});  // all ranks on one node
}

TEST_CASE("the number of nodes comes from the command, the sizes or the scheduler",
          "[doctor][world]") {
  const auto nodes = [](Environment environment) {
    doctor::Subject subject;
    subject.environment = std::move(environment);
    return doctor::world_of(subject).nodes;
  };
  CHECK(nodes({}) == 1);
  CHECK(nodes({{"WORLD_SIZE", "9"}, {"LOCAL_WORLD_SIZE", "4"}}) == 3);
  CHECK(nodes({{"WORLD_SIZE", "9"}, {"LOCAL_WORLD_SIZE", "0"}, {"NNODES", "2"}}) == 2);
  CHECK(nodes({{"GROUP_WORLD_SIZE", "3"}, {"NNODES", "2"}, {"SLURM_NNODES", "5"}}) == 3);
  CHECK(nodes({{"SLURM_NNODES", "5"}}) == 5);
  CHECK(nodes({{"NNODES", "many"}, {"SLURM_NNODES", "5"}}) == 5);
}

TEST_CASE("the node's rank has the option before the variables, in their order",
          "[doctor][world]") {
  doctor::Subject subject;
  CHECK_FALSE(doctor::world_of(subject).node_rank);
  subject.environment = {{"SLURM_NODEID", "3"}};
  CHECK(doctor::world_of(subject).node_rank == 3);
  subject.environment["GROUP_RANK"] = "2";
  CHECK(doctor::world_of(subject).node_rank == 2);
  subject.environment["NODE_RANK"] = "1";
  CHECK(doctor::world_of(subject).node_rank == 1);
  subject.command = command_of({"torchrun", "--nnodes=2", "--node-rank", "0", "train.py"});
  CHECK(doctor::world_of(subject).node_rank == 0);
}

TEST_CASE("a plan of safelaunch's own workers outranks options and variables", "[doctor][world]") {
  doctor::Subject subject;
  subject.environment = kWhole;
  subject.spawn.emplace();
  subject.spawn->workers = 4;
  subject.spawn->nodes = 3;
  subject.spawn->node_rank = 2;
  subject.spawn->master_addr = "10.0.0.1";
  subject.spawn->master_port = 29501;
  const doctor::World world = doctor::world_of(subject);
  CHECK_FALSE(world.rank);
  CHECK(world.nodes == 3);
  CHECK(world.node_rank == 2);
  CHECK(world.master_address == "10.0.0.1");
  CHECK(world.master_port == 29501);
  CHECK(doctor::processes_here(subject) == 4);
  CHECK(doctor::makes_its_ranks(subject));
}

TEST_CASE("the endpoint of a rendezvous may have no port, or another form", "[doctor][world]") {
  for (const auto& [endpoint, host] :
       std::vector<std::pair<std::string, std::string>>{{"node0", "node0"},
                                                        {"node0:29400", "node0"},
                                                        {"10.0.0.4:1", "10.0.0.4"},
                                                        {"[::1]:29400", "::1"},
                                                        {"[fd00::4]", "fd00::4"}}) {
    doctor::Subject subject;
    subject.command = command_of(
        {"torchrun", "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=" + endpoint, "t.py"});
    CHECK(doctor::world_of(subject).master_address == host);
  }
}

TEST_CASE("each variable of Slurm that JAX needs is told by its name", "[doctor][world]") {
  const Environment whole{{"SLURM_JOB_ID", "7"},
                          {"SLURM_STEP_NODELIST", "n[1-2]"},
                          {"SLURM_NTASKS", "2"},
                          {"SLURM_PROCID", "0"},
                          {"SLURM_LOCALID", "0"}};
  doctor::HostFacts facts = healthy_host();
  facts.imports_jax = true;
  facts.subject.environment = whole;
  CHECK(outline(facts) == Lines{});
  for (const char* name :
       {"SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"}) {
    facts.subject.environment = whole;
    facts.subject.environment.erase(name);
    CHECK(first_finding(facts).evidence == "SLURM_JOB_ID=7, and " + std::string(name) +
                                               " is not set: this shell is no task of the job");
  }
}
