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

job::Command command(std::vector<std::string> argv) {
  return job::recognise(std::move(argv), {}, [](const std::string&) { return std::nullopt; });
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
  facts.subject.command = command({"torchrun", "--nproc-per-node", "2", "train.py"});
  CHECK(outline(facts) == Lines{});
  facts.subject.command = command({"python", "train.py"});
  CHECK(outline(facts) == Lines{"world-variables blocks"});
}

TEST_CASE("the master of a launcher is taken from its options", "[doctor][world]") {
  doctor::Subject subject;
  subject.environment = {{"MASTER_ADDR", "elsewhere"}};
  subject.command = command({"torchrun", "--nnodes=2", "--node_rank=1", "--master_addr", "node0",
                             "--master_port=29501", "train.py", "--master_addr", "not-this"});
  const doctor::World world = doctor::world_of(subject);
  CHECK(world.master_address == "node0");
  CHECK(world.master_port == 29501);
  CHECK(world.nodes == 2);
  CHECK(world.node_rank == 1);
}

TEST_CASE("the master of a c10d rendezvous is its endpoint's host", "[doctor][world]") {
  doctor::Subject subject;
  subject.command = command({"torchrun", "--nnodes=2", "--rdzv-backend=c10d",
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
