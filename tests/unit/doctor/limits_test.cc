#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Lines = std::vector<std::string>;

namespace {

doctor::HostFacts with_adapters() {
  doctor::HostFacts facts = healthy_host();
  facts.limits.locked_memory = {host::kUnlimited, host::kUnlimited};
  facts.infiniband.ports = {{"mlx5_0", 1, "ACTIVE", "InfiniBand"},
                            {"mlx5_1", 1, "ACTIVE", "InfiniBand"}};
  facts.infiniband.verbs = {"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs1"};
  return facts;
}

}  // namespace

TEST_CASE("adapters that can be used are no finding", "[doctor][limits]") {
  CHECK(outline(with_adapters()) == Lines{});
}

TEST_CASE("little locked memory is a risk where InfiniBand is", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.limits.locked_memory = {8 << 20, host::kUnlimited};
  CHECK(outline(facts) == Lines{"ib-memlock risk"});
  CHECK(first_finding(facts).remedy == "ulimit -l unlimited");
}

TEST_CASE("adapters without devices to open mean that nobody will use them", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.infiniband.verbs.clear();
  CHECK(outline(facts) == Lines{"ib-unused risk"});
}

TEST_CASE("adapters that this user may not open are not used either", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.infiniband.closed = facts.infiniband.verbs;
  CHECK(outline(facts) == Lines{"ib-unused risk"});
}

TEST_CASE("a port that is down is a note while others are up", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.infiniband.ports[1].state = "DOWN";
  CHECK(outline(facts) == Lines{"ib-peer note"});
  CHECK(first_finding(facts).remedy == "where other nodes use it: NCCL_IB_HCA=mlx5_0:1");
  facts.infiniband.ports[0].state = "INIT";
  CHECK(outline(facts) == Lines{"ib-unused risk"});
}

TEST_CASE("ports of two kinds are a note", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.infiniband.ports[1].link_layer = "Ethernet";
  CHECK(outline(facts) == Lines{"ib-peer note"});
}

TEST_CASE("fewer open files than usual are a risk", "[doctor][limits]") {
  doctor::HostFacts facts = healthy_host();
  facts.limits.open_files = {256, 4096};
  CHECK(first_finding(facts).remedy == "ulimit -n 4096");
  CHECK(outline(facts) == Lines{"open-files risk"});
  facts.subject.command = job::recognise({"torchrun", "train.py"}, {});
  CHECK(outline(facts) == Lines{"open-files risk"});
  facts.subject.command = job::recognise({"true"}, {});
  CHECK(outline(facts) == Lines{"open-files note"});
}

TEST_CASE("an unlimited stack matters to NCCL before 2.28 only", "[doctor][limits]") {
  doctor::HostFacts facts = healthy_host();
  facts.limits.stack = {host::kUnlimited, host::kUnlimited};
  CHECK(outline(facts) == Lines{});
  facts.libraries->nccl[0].version = "2.21.5";
  CHECK(outline(facts) == Lines{"stack-unlimited risk"});
}

TEST_CASE("a cgroup without room for threads is a risk", "[doctor][limits]") {
  doctor::HostFacts facts = healthy_host();
  facts.quotas.processes_left = 40;
  CHECK(outline(facts) == Lines{"thread-limit risk"});
}

TEST_CASE("little memory is a risk", "[doctor][limits]") {
  doctor::HostFacts facts = healthy_host();
  facts.quotas.memory_left = std::uint64_t{100} << 20;
  CHECK(outline(facts) == Lines{"host-oom risk"});
}

TEST_CASE("locked memory is told with both limits, and who can raise it", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.limits.locked_memory = {8 << 20, 64 << 20};
  CHECK(first_finding(facts).evidence ==
        "ulimit -l allows 8 MiB of locked memory (hard limit: 64 MiB), and mlx5_0 is there");
  CHECK(first_finding(facts).remedy ==
        "docker run --ulimit memlock=-1, or memlock in /etc/security/limits.conf");
  facts.limits.locked_memory.hard = host::kUnlimited;
  CHECK(first_finding(facts).evidence.find("(hard limit: unlimited)") != std::string::npos);
}

TEST_CASE("each limit is a finding from its number on, and not before", "[doctor][limits]") {
  doctor::HostFacts facts = healthy_host();
  facts.limits.open_files.soft = 1024;
  facts.quotas.processes_left = 64;
  facts.quotas.memory_left = std::uint64_t{512} << 20;
  CHECK(outline(facts) == Lines{});
  facts.limits.open_files.soft -= 1;
  *facts.quotas.processes_left -= 1;
  *facts.quotas.memory_left -= 1;
  CHECK(outline(facts) == Lines{"open-files risk", "thread-limit risk", "host-oom risk"});
}

TEST_CASE("room for threads is asked for each rank of the node", "[doctor][limits]") {
  doctor::HostFacts facts = healthy_host();
  facts.quotas.processes_left = 127;
  CHECK(outline(facts) == Lines{});
  facts.subject.spawn.emplace().workers = 2;
  CHECK(outline(facts) == Lines{"thread-limit risk"});
  CHECK(first_finding(facts).evidence == "the cgroup's pids.max leaves room for 127 more threads");
  facts.quotas.processes_left = -3;  // the limit was lowered below what runs
  CHECK(first_finding(facts).evidence.ends_with("for -3 more threads"));
}

TEST_CASE("where no more open files are allowed the remedy is not the limit itself",
          "[doctor][limits]") {
  auto facts = healthy_host();
  facts.limits.open_files = {16, 16};
  CHECK(first_finding(facts).remedy.starts_with("nofile in /etc/security/limits.conf"));
}

TEST_CASE("open files are raised to what is allowed, and no further than is of use",
          "[doctor][limits]") {
  doctor::HostFacts facts = healthy_host();
  facts.limits.open_files = {256, 1 << 20};
  CHECK(first_finding(facts).evidence == "ulimit -n allows 256 open files (hard limit: 1048576)");
  CHECK(first_finding(facts).remedy == "ulimit -n 65536");
}

TEST_CASE("memory without a limit of a cgroup is the host's", "[doctor][limits]") {
  doctor::HostFacts facts = healthy_host();
  facts.quotas.memory_left = 0;
  CHECK(first_finding(facts).evidence ==
        "0 bytes of memory is left (MemAvailable in /proc/meminfo)");
  CHECK(first_finding(facts).remedy.starts_with("end other processes here: "));
  facts.quotas.memory_limit = 1 << 30;
  facts.quotas.memory_file = "/cg/memory.max";
  CHECK(first_finding(facts).remedy == "raise the limit, or end other processes there");
}

TEST_CASE("without a GPU adapters that are not used are a note", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.gpus = 0;
  facts.infiniband.verbs.clear();
  CHECK(outline(facts) == Lines{"ib-unused note"});
  CHECK(first_finding(facts).evidence ==
        "/sys/class/infiniband has mlx5_0, and /dev/infiniband/uverbs* is missing");
}

TEST_CASE("one adapter that may be opened is enough", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.infiniband.closed = {"/dev/infiniband/uverbs1"};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("without an active port the first that is down is told", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.infiniband.ports[0].state = "INIT";
  facts.infiniband.ports[1].state = "DOWN";
  CHECK(first_finding(facts).evidence ==
        "/sys/class/infiniband/mlx5_0/ports/1/state is INIT, and no port is active");
  facts.infiniband.ports[1].link_layer = "Ethernet";  // a port that is down is of no kind
  CHECK(outline(facts) == Lines{"ib-unused risk"});
}

TEST_CASE("ports of two kinds are told with those that speak InfiniBand", "[doctor][limits]") {
  doctor::HostFacts facts = with_adapters();
  facts.infiniband.ports.push_back({"mlx5_2", 1, "ACTIVE", "Ethernet"});
  CHECK(first_finding(facts).evidence ==
        "of the active ports mlx5_0:1,mlx5_1:1 speak InfiniBand, others Ethernet");
}
