#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::testing;
using Lines = std::vector<std::string>;

namespace {

doctor::HostFacts host_for(std::vector<std::string> argv, const std::string& script,
                           Environment environment = {}) {
  doctor::HostFacts facts = healthy_host();
  facts.subject.command = job::recognise(std::move(argv), environment,
                                         [](const std::string&) { return job::FileAt{}; });
  facts.subject.environment = std::move(environment);
  facts.world = doctor::world_of(facts.subject);
  facts.script = script;
  return facts;
}

const std::string kKnowsOne =
    "parser.add_argument('--local_rank', type=int)\nparser.parse_args()\n";

Lines launched(std::vector<std::string> options, const std::string& script) {
  std::vector<std::string> argv{"python", "-m", "torch.distributed.launch", "--nproc_per_node",
                                "2"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.emplace_back("train.py");
  return outline(host_for(std::move(argv), script));
}

const std::string kDeepspeed = "import deepspeed\ndeepspeed.init_distributed()\n";

}  // namespace

TEST_CASE(
    "a script that knows only --local_rank is told before torch.distributed.launch adds the other",
    "[doctor][script]") {
  CHECK(launched({}, kKnowsOne) == Lines{"local-rank-argument risk"});
  CHECK(launched({}, "# the launcher adds --local-rank\n" + kKnowsOne) ==
        Lines{"local-rank-argument risk"});
  CHECK(launched({}, "parser.add_argument('--local-rank', '--local_rank')") == Lines{});
  CHECK(launched({}, "parser.add_argument('--local_rank'); parser.parse_known_args()") == Lines{});
  CHECK(launched({"--use_env"}, kKnowsOne) == Lines{});
  CHECK(launched({"--use-env"}, kKnowsOne) == Lines{});
  CHECK(launched({}, "") == Lines{});
  CHECK(outline(host_for({"torchrun", "--nproc-per-node", "2", "train.py"}, kKnowsOne)) == Lines{});
}

TEST_CASE("before torch 2.0 the launcher adds --local_rank itself", "[doctor][script]") {
  doctor::HostFacts facts =
      host_for({"python", "-m", "torch.distributed.launch", "train.py"}, kKnowsOne);
  facts.libraries->torch_version = "1.13.1";
  CHECK(outline(facts) == Lines{});
  facts.libraries->torch_version = "";
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("DeepSpeed without a launcher, and without mpi4py, is told of", "[doctor][script]") {
  CHECK(outline(host_for({"python", "train.py"}, kDeepspeed)) ==
        Lines{"deepspeed-without-launcher risk"});
  CHECK(outline(host_for({"deepspeed", "train.py"}, kDeepspeed)) == Lines{});
  CHECK(outline(host_for({"python", "train.py"}, "import deepspeed\n")) == Lines{});
  CHECK(outline(host_for({"python", "train.py"},
                         "import os\nos.environ['RANK'] = '0'\n" + kDeepspeed)) == Lines{});
  doctor::HostFacts with_mpi = host_for({"python", "train.py"}, kDeepspeed);
  with_mpi.has_mpi4py = true;
  CHECK(outline(with_mpi) == Lines{});
}

TEST_CASE("DeepSpeed whose world is in the environment looks for no MPI", "[doctor][script]") {
  const Environment world{{"RANK", "0"},
                          {"WORLD_SIZE", "1"},
                          {"LOCAL_RANK", "0"},
                          {"MASTER_ADDR", "127.0.0.1"},
                          {"MASTER_PORT", "29500"}};
  CHECK(outline(host_for({"python", "train.py"}, kDeepspeed, world)) == Lines{});
}

TEST_CASE("node 0 of several that the others are to find at the loopback waits in vain",
          "[doctor][script]") {
  const auto nodes = [](const std::string& address, const std::string& rank) {
    return outline(host_for(
        {"torchrun", "--nnodes", "2", "--node-rank", rank, "--master-addr", address, "train.py"},
        ""));
  };
  CHECK(nodes("127.0.0.1", "0") == Lines{"nodes-missing risk"});
  CHECK(nodes("localhost", "0") == Lines{"nodes-missing risk"});
  CHECK(nodes("::1", "0") == Lines{"nodes-missing risk"});
  CHECK(nodes("10.0.0.5", "0") == Lines{});
  CHECK(outline(host_for({"torchrun", "--master-addr", "127.0.0.1", "train.py"}, "")) == Lines{});
}

TEST_CASE("before a run nothing is told that only the script's words say", "[doctor][script]") {
  doctor::HostFacts facts = host_for({"python", "train.py"}, kDeepspeed);
  facts.libraries.reset();
  CHECK(outline(facts) == Lines{});
}
