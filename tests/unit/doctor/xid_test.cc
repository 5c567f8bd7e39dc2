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

TEST_CASE("codes of failing hardware are grave, and mistakes of programs are not",
          "[doctor][xid]") {
  std::vector<int> grave;
  for (int code = 0; code < 200; ++code)
    if (doctor::is_grave({"0000:1b:00", code})) grave.push_back(code);
  CHECK(grave == std::vector{48, 61, 62, 64, 74, 79, 94, 95, 119, 120, 140, 154});
}

TEST_CASE("an Xid that is torn or hostile is none", "[doctor][xid]") {
  for (const char* text :
       {"", "NVRM: Xid (PCI:", "NVRM: Xid (PCI:0000:1b:00): ", "NVRM: Xid (PCI:0000:1b:00):79",
        "NVRM: Xid (PCI:0000:1b:00): 99999999999999", "Xid (PCI:0000:1b:00): 79"})
    CHECK_FALSE(doctor::parse_xid(text));
  CHECK(doctor::parse_xid("NVRM: Xid (PCI:): 79") == doctor::Xid{"", 79});
}

TEST_CASE("each GPU has one line, the last that the kernel wrote", "[doctor][xid]") {
  doctor::HostFacts facts = healthy_host();
  facts.driver_messages = {{"NVRM: Xid (PCI:0000:2b:00): 79, b", 3h},
                           {"NVRM: Xid (PCI:0000:1b:00): 79, a", 2h},
                           {"NVRM: Xid (PCI:0000:2b:00): 48, c", 1h},
                           {kMistake, 1h}};
  const auto advices = doctor::examine(facts);
  REQUIRE(advices.size() == 2);
  CHECK_THAT(advices[0].finding.evidence, ContainsSubstring("79, a"));
  CHECK_THAT(advices[1].finding.evidence, ContainsSubstring("48, c"));
}
