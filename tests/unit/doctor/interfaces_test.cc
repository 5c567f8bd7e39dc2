#include "launcher/doctor/checks.h"
#include "safelaunch/doctor/interface_choice.h"

#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;

TEST_CASE("NCCL's patterns are beginnings, exact names and exclusions", "[doctor][interfaces]") {
  const auto all = healthy_host().interfaces;
  CHECK(doctor::picked_by_nccl("eth", all) == Lines{"eth0"});
  CHECK(doctor::picked_by_nccl("=eth", all) == Lines{});
  CHECK(doctor::picked_by_nccl("=eth0,lo", all) == Lines{"lo", "eth0"});
  CHECK(doctor::picked_by_nccl("^lo,docker", all) == Lines{"eth0"});
  CHECK(doctor::picked_by_nccl("ib,eth0", all) == Lines{"eth0"});
}

TEST_CASE("an interface that is down or has no address is not picked", "[doctor][interfaces]") {
  auto all = healthy_host().interfaces;
  all[2].up = false;
  CHECK(doctor::picked_by_nccl("eth0", all) == Lines{});
  all[2].up = true;
  all[2].addresses.clear();
  CHECK(doctor::picked_by_nccl("eth0", all) == Lines{});
}

TEST_CASE("without a pattern NCCL takes ib first and docker, lo and virbr last",
          "[doctor][interfaces]") {
  auto all = healthy_host().interfaces;
  CHECK(doctor::nccl_default(all) == "eth0");
  all.push_back({"ib0", {"10.1.0.5"}, true, true, false, 2044});
  CHECK(doctor::nccl_default(all) == "ib0");
  CHECK(doctor::nccl_default(std::span(all).first(2)) == "docker0");
  CHECK(doctor::nccl_default(std::span(all).first(1)) == "lo");
}

TEST_CASE("a name that is no interface is told with those that are", "[doctor][interfaces]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.environment = {{"NCCL_SOCKET_IFNAME", "eth7"}};
  const Finding finding = first_finding(facts);
  CHECK(finding.cause == "ifname-missing");
  CHECK(finding.severity == Severity::risk);
  CHECK(finding.evidence ==
        "NCCL_SOCKET_IFNAME=eth7 picks no interface of this host; there are lo, docker0, eth0");
}

TEST_CASE("on several nodes nothing goes round a wrong name, so it blocks",
          "[doctor][interfaces]") {
  doctor::HostFacts facts = second_node();
  facts.subject.environment = {{"NCCL_SOCKET_IFNAME", "eth7"}};
  CHECK(outline(facts) == Lines{"ifname-missing blocks"});
}

TEST_CASE("without GPUs nobody reads NCCL's variable", "[doctor][interfaces]") {
  doctor::HostFacts facts = healthy_host();
  facts.gpus = 0;
  facts.subject.environment = {{"NCCL_SOCKET_IFNAME", "eth7"}};
  CHECK(outline(facts) == Lines{"ifname-missing note"});
}

TEST_CASE("a value out of a file is told with the file and the line", "[doctor][interfaces]") {
  doctor::HostFacts facts = healthy_host();
  facts.nccl_files = {{"NCCL_SOCKET_IFNAME", "eth7", "/etc/nccl.conf", 3}};
  CHECK_THAT(first_finding(facts).evidence,
             ContainsSubstring("/etc/nccl.conf:3: NCCL_SOCKET_IFNAME=eth7 picks no"));
}

TEST_CASE("gloo takes plain names only", "[doctor][interfaces]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.environment = {{"GLOO_SOCKET_IFNAME", "eth0"}};
  CHECK(outline(facts) == Lines{});
  facts.subject.environment = {{"GLOO_SOCKET_IFNAME", "^docker0"}};
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("gloo takes plain names only"));
}

TEST_CASE("a bridge that NCCL would take before the way to the master is a risk",
          "[doctor][interfaces]") {
  doctor::HostFacts facts = second_node();
  facts.interfaces.insert(facts.interfaces.begin(),
                          {"br-1a2b", {"172.18.0.1"}, true, true, false, 1500});
  CHECK(outline(facts) == Lines{"wrong-interface risk"});
  CHECK(first_finding(facts).remedy == "export NCCL_SOCKET_IFNAME==eth0 GLOO_SOCKET_IFNAME=eth0");
  facts.subject.environment = {{"NCCL_SOCKET_IFNAME", "eth0"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("on one node a bridge reaches everybody", "[doctor][interfaces]") {
  doctor::HostFacts facts = healthy_host();
  facts.interfaces.insert(facts.interfaces.begin(),
                          {"br-1a2b", {"172.18.0.1"}, true, true, false, 1500});
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a pattern may give ports, empty words and exact exclusions", "[doctor][interfaces]") {
  const auto all = healthy_host().interfaces;
  CHECK(doctor::picked_by_nccl("eth0:29500", all) == Lines{"eth0"});
  CHECK(doctor::picked_by_nccl(",,eth0,", all) == Lines{"eth0"});
  CHECK(doctor::picked_by_nccl("^=docker", all) == Lines{"lo", "docker0", "eth0"});
  CHECK(doctor::picked_by_nccl("^=docker0,lo", all) == Lines{"eth0"});
  CHECK(doctor::picked_by_nccl("ETH0", all) == Lines{});
  CHECK(doctor::picked_by_nccl("", all) == Lines{});
  CHECK(doctor::picked_by_nccl("^", all) == Lines{"lo", "docker0", "eth0"});
  CHECK(doctor::picked_by_nccl("eth0", {}) == Lines{});
}

TEST_CASE("interfaces that lead to no other node are known by their names",
          "[doctor][interfaces]") {
  for (const char* name :
       {"docker0", "br-1a2b", "veth9", "virbr0", "cni0", "flannel.1", "cali1", "tun0", "tap1",
        "tailscale0", "wg0", "lxcbr0", "podman0", "kube-ipvs0", "zt5", "vmnet8", "nerdctl0"})
    CHECK(doctor::is_virtual(name));
  for (const char* name : {"", "lo", "eth0", "ib0", "br0", "bond0", "ens5", "enp3s0", "wlan0"})
    CHECK_FALSE(doctor::is_virtual(name));
}

TEST_CASE("the environment's pattern counts before a file's", "[doctor][interfaces]") {
  doctor::HostFacts facts = healthy_host();
  facts.nccl_files = {{"NCCL_SOCKET_IFNAME", "eth7", "/etc/nccl.conf", 3}};
  facts.subject.environment = {{"NCCL_SOCKET_IFNAME", "eth0"}};
  for (const std::string& line : outline(facts)) CHECK_FALSE(line.starts_with("ifname-missing"));
}

TEST_CASE("a name that gloo does not know blocks on several nodes", "[doctor][interfaces]") {
  doctor::HostFacts facts = second_node();
  facts.subject.environment = {{"GLOO_SOCKET_IFNAME", "eth0,eth7"}};
  CHECK(outline(facts) == Lines{"ifname-missing blocks"});
  CHECK(first_finding(facts).evidence ==
        "GLOO_SOCKET_IFNAME=eth0,eth7: there is no interface eth7, there are lo, docker0, eth0");
}

TEST_CASE("a bridge is no risk where the way to the master leads over it, or nobody knows it",
          "[doctor][interfaces]") {
  doctor::HostFacts facts = second_node();
  facts.interfaces.insert(facts.interfaces.begin(),
                          {"br-1a2b", {"172.18.0.1"}, true, true, false, 1500});
  facts.to_master.interface = "br-1a2b";
  CHECK(outline(facts) == Lines{});
  facts.to_master = {};
  CHECK(outline(facts) == Lines{});
}
