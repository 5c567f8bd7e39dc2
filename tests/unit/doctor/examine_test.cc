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
