#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Lines = std::vector<std::string>;

TEST_CASE("a healthy host has no findings", "[doctor]") {
  CHECK(outline(healthy_host()) == Lines{});
  CHECK(outline(second_node()) == Lines{});
}

TEST_CASE("a host of which nothing could be read has no findings", "[doctor]") {
  CHECK(outline(doctor::HostFacts{}) == Lines{});
}

TEST_CASE("what blocks comes before risks, and notes come last", "[doctor]") {
  doctor::HostFacts facts = second_node();
  facts.subject.environment = {{"NCCL_TIMEOUT", "60"}};                       // note
  facts.limits.open_files.soft = 256;                                         // warning
  facts.to_master = {host::Route::Kind::none, "", "Network is unreachable"};  // blocking
  CHECK(outline(facts) == Lines{"connect-failed blocks", "open-files risk", "variable note"});
}

TEST_CASE("sizes are told in the unit that a person would take", "[doctor]") {
  doctor::HostFacts facts = healthy_host();
  facts.quotas.memory_left = std::uint64_t{300} << 20;
  facts.quotas.memory_limit = std::uint64_t{2} << 30;
  facts.quotas.memory_file = "/sys/fs/cgroup/memory.max";
  CHECK(first_finding(facts).evidence ==
        "300 MiB of memory is left (/sys/fs/cgroup/memory.max allows 2.0 GiB)");
}

TEST_CASE("only a finding that blocks forbids a run", "[doctor]") {
  CHECK(blocks(Finding{"x", Severity::blocks, "", ""}));
  CHECK_FALSE(blocks(Finding{"x", Severity::risk, "", ""}));
  CHECK_FALSE(blocks(Finding{"x", Severity::note, "", ""}));
}

TEST_CASE("nothing to fix has no report", "[doctor]") {
  CHECK(fix({}).empty());
  const std::vector<Advice> advices(2);  // findings without files and processes
  CHECK(fix(advices).empty());
}

TEST_CASE("several faults at once are all told, the gravest first, in the order of the themes",
          "[doctor]") {
  doctor::HostFacts facts = second_node();
  facts.to_master = {host::Route::Kind::none, "", "Network is unreachable"};
  facts.subject.environment = {{"NCCL_SOCKET_IFNAME", "eth7"}};
  facts.shared_memory.available = 0;
  facts.limits.open_files.soft = 256;
  facts.platform.wsl = true;
  CHECK(outline(facts) == Lines{"connect-failed blocks", "ifname-missing blocks", "shm-small risk",
                                "open-files risk", "wsl-topology note"});
}
