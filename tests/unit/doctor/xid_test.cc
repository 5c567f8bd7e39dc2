#include "launcher/doctor/checks.h"

#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

namespace {

constexpr const char* kOffTheBus =
    "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
constexpr const char* kMistake =
    "NVRM: Xid (PCI:0000:1b:00): 31, pid=71, name=python, Ch 00000008, MMU Fault";

}  // namespace

TEST_CASE("an Xid has a place and a code", "[doctor][xid]") {
  CHECK(doctor::parse_xid(kOffTheBus) == doctor::Xid{"0000:1b:00", 79});
  CHECK_FALSE(doctor::parse_xid("NVRM: Xid (PCI:0000:1b:00"));
  CHECK_FALSE(doctor::parse_xid("NVRM: Xid (PCI:0000:1b:00): none"));
  CHECK_FALSE(doctor::parse_xid("NVRM: loading NVIDIA UNIX Open Kernel Module"));
}

TEST_CASE("failing hardware in the kernel's log is a risk, with its age", "[doctor][xid]") {
  doctor::HostFacts facts = healthy_host();
  facts.driver_messages = {{kOffTheBus, 3h}, {kOffTheBus, 2h}};
  CHECK(outline(facts) == Lines{"gpu-ill risk"});
  CHECK_THAT(first_finding(facts).evidence,
             ContainsSubstring("2h ago") && ContainsSubstring("off the bus"));
  CHECK_THAT(first_finding(facts).remedy, ContainsSubstring("nvidia-smi -q -i 0000:1b:00.0"));
}

TEST_CASE("what a program does wrong says nothing about the GPU", "[doctor][xid]") {
  doctor::HostFacts facts = healthy_host();
  facts.driver_messages = {{kMistake, 2h}};
  CHECK(outline(facts) == Lines{});
}
