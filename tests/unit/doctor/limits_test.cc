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
  facts.infiniband.ports = {{"mlx5_0", 1, "ACTIVE", "InfiniBand", 200},
                            {"mlx5_1", 1, "ACTIVE", "InfiniBand", 200}};
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
