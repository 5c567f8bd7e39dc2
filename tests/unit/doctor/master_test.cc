#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using Lines = std::vector<std::string>;

TEST_CASE("refused, timed out and no route are three answers", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master = host::Reachability{host::Reach::connected, "", Duration{1}};
  CHECK(outline(facts) == Lines{});

  facts.master = host::Reachability{host::Reach::refused, "Connection refused", Duration{1}};
  CHECK(outline(facts) == Lines{"connect-failed note"});
  CHECK(first_finding(facts).evidence == "nothing listens on node0:29500 yet (connection refused)");

  facts.master = host::Reachability{host::Reach::timed_out, "Connection timed out", Duration{2000}};
  CHECK(outline(facts) == Lines{"connect-failed blocks"});
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("does not answer within 2"));
  CHECK_THAT(first_finding(facts).remedy, StartsWith("open the port on the master's host, and "));
  facts.firewall = host::Firewall::firewalld;
  CHECK_THAT(
      first_finding(facts).remedy,
      ContainsSubstring("(with the tool of this host: sudo firewall-cmd --add-port=29500/tcp)"));

  facts.master = host::Reachability{host::Reach::no_route, "No route to host", Duration{1}};
  CHECK(outline(facts) == Lines{"connect-failed blocks"});
  CHECK(first_finding(facts).evidence == "there is no route to node0:29500: No route to host");
  facts.to_master = {};
  CHECK(first_finding(facts).remedy == "ip route get 10.0.0.4");
  facts.to_master = {host::Route::Kind::out, "eth0",
                     ""};  // the kernel knows a way, so somebody rejects
  CHECK_THAT(first_finding(facts).remedy,
             ContainsSubstring("a firewall that rejects looks the same: open"));
}

TEST_CASE("a clock that nobody keeps is a risk for several nodes, and no finding for one",
          "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.clock = host::ClockState{true, Duration{3}};
  CHECK(outline(facts) == Lines{});
  facts.clock->kept = false;
  CHECK(outline(facts) == Lines{"clock-skew risk"});
  facts.world = {};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("the routing table alone can tell that there is no way", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.to_master = {host::Route::Kind::none, "", "Network is unreachable"};
  CHECK(first_finding(facts).remedy == "ip route get 10.0.0.4");
}

TEST_CASE("where the loopback interface is down the remedy brings it up", "[doctor][master]") {
  doctor::HostFacts facts = healthy_host();
  facts.world.master_address = "127.0.0.1";
  facts.master_name.addresses = {"127.0.0.1"};
  facts.to_master = {host::Route::Kind::none, "", "Network is unreachable"};
  CHECK(first_finding(facts).remedy ==
        "bring the loopback interface up, as root: ip link set lo up");
}

TEST_CASE("a master's name that nobody knows blocks", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master_name = {
      host::NameLookup::Outcome::unknown, "node0", {}, "Name or service not known", {}};
  facts.to_master = {};
  CHECK(outline(facts) == Lines{"name-resolution blocks"});
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("node0 cannot be resolved"));
}

TEST_CASE("a name server that does not answer is a risk", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master_name = {host::NameLookup::Outcome::late, "node0", {}, {}, Duration{3000}};
  CHECK(outline(facts) == Lines{"name-resolution risk"});
}

TEST_CASE("a host that does not know its own names holds torchrun up", "[doctor][master]") {
  const auto unknown = [](const char* name) {
    return host::NameLookup{host::NameLookup::Outcome::unknown, name, {}, "unknown", {}};
  };
  doctor::HostFacts facts = healthy_host();
  facts.localhost = unknown("localhost");
  CHECK(outline(facts) == Lines{});  // nothing is known to use the name
  facts.subject.command = job::recognise({"torchrun", "train.py"}, {});
  CHECK(outline(facts) == Lines{"name-resolution risk"});
  facts.own_name = unknown("gpu-1");
  CHECK(outline(facts) == Lines{"name-resolution risk"});
  CHECK(first_finding(facts).evidence ==
        "localhost and gpu-1 cannot be resolved on this host; torchrun's ranks meet by these "
        "names, and wait for minutes");
  CHECK(first_finding(facts).remedy == "as root: echo 127.0.0.1 localhost gpu-1 >> /etc/hosts");
  facts.localhost = healthy_host().localhost;
  CHECK(outline(facts) == Lines{"own-name-unknown risk"});
  facts.own_name.outcome = host::NameLookup::Outcome::skipped;  // the resolver was not asked
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a slow name server is a risk even where it knows the name", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master_name.took = Duration{5200};
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("took 5.2s for node0"));
}

TEST_CASE("a master that is the node itself is a risk for every node but the first",
          "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master_name.addresses = {"127.0.1.1"};
  facts.to_master = {host::Route::Kind::local, "lo", {}};
  CHECK(outline(facts) == Lines{"name-resolution risk"});
  facts.world.node_rank.reset();
  CHECK(outline(facts) == Lines{"name-resolution risk"});
  facts.world.node_rank = 0;
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("on one node the loopback is right", "[doctor][master]") {
  doctor::HostFacts facts = healthy_host();
  facts.own_name.addresses = {"127.0.1.1"};
  facts.world.master_address = "localhost";
  facts.master_name = {
      host::NameLookup::Outcome::found, "localhost", {"127.0.0.1"}, {}, Duration{1}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE(
    "an own name alone that leads nowhere has a cause of its own, unless torchrun is told better",
    "[doctor][master]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.command = job::recognise({"torchrun", "--nproc-per-node", "2", "train.py"}, {});
  facts.own_name = {host::NameLookup::Outcome::unknown, "gpu-1", {}, "unknown", {}};
  CHECK(outline(facts) == Lines{"own-name-unknown risk"});
  facts.subject.environment["PET_LOCAL_ADDR"] = "127.0.0.1";
  CHECK(outline(facts) == Lines{"name-resolution note"});  // gloo has its own way
}

TEST_CASE("an endpoint that is this host's and that torchrun will not serve is a risk",
          "[doctor][master]") {
  doctor::HostFacts facts = healthy_host();
  facts.subject.command = job::recognise({"torchrun", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                                          "head-node:29455", "--nproc-per-node", "2", "train.py"},
                                         {});
  facts.interfaces.push_back({"d0", {"10.77.0.5"}, true, true, false, 1500});
  facts.own_name = {host::NameLookup::Outcome::found, "gpu-1", {"127.0.1.1"}, {}, {}};
  facts.master_name = {host::NameLookup::Outcome::found, "head-node", {"10.77.0.5"}, {}, {}};
  facts.world.master_address = "head-node";
  facts.world.master_port = 29455;
  const auto is_told = [&] {
    const Lines lines = outline(facts);
    return std::ranges::find(lines, "endpoint-not-own risk") != lines.end();
  };
  CHECK(is_told());
  SECTION("somebody serves it") {
    facts.endpoint_served = true;
  }
  SECTION("the name of this host leads to it") {
    facts.own_name.addresses = {"10.77.0.5"};
  }
  SECTION("it is another host's") {
    facts.master_name.addresses = {"10.77.0.9"};
  }
  SECTION("torchrun is told") {
    facts.subject.command =
        job::recognise({"torchrun", "--rdzv-backend", "c10d", "--rdzv-endpoint", "head-node:29455",
                        "--rdzv-conf", "is_host=1", "train.py"},
                       {});
  }
  CHECK_FALSE(is_told());
}

TEST_CASE("an own name that is no address of the host is a note on one node", "[doctor][master]") {
  doctor::HostFacts facts = healthy_host();
  facts.own_name.addresses = {"10.99.99.99"};
  CHECK(outline(facts) == Lines{"name-resolution note"});
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("which is no address of this host"));
  facts.world.nodes = 2;
  CHECK(outline(facts) == Lines{"name-resolution risk"});
}

TEST_CASE("an own name that leads to the loopback misleads gloo on several nodes",
          "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.own_name.addresses = {"127.0.1.1"};
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("gpu-1 leads to 127.0.1.1"));
  facts.subject.environment = {{"GLOO_SOCKET_IFNAME", "eth0"}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a connection that fails for another reason has no way, with the kernel's words",
          "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master = host::Reachability{host::Reach::failed, "Too many open files", Duration{1}};
  CHECK(first_finding(facts).evidence == "there is no route to node0:29500: Too many open files");
  facts.world.master_port.reset();
  CHECK(first_finding(facts).evidence == "there is no route to node0: Too many open files");
}

TEST_CASE("where a connection was tried the routing table is not asked", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.to_master = {host::Route::Kind::none, "", "Network is unreachable"};
  facts.master = host::Reachability{host::Reach::connected, "", Duration{1}};
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("each answer to this host's own name that misleads gloo is told", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.own_name = {host::NameLookup::Outcome::unknown, "gpu-1", {}, "Name not known", {}};
  CHECK(first_finding(facts).evidence ==
        "this host's name gpu-1 cannot be resolved: Name not known");
  facts.own_name = {host::NameLookup::Outcome::late, "gpu-1", {}, "", Duration{3000}};
  CHECK(first_finding(facts).evidence == "this host's name gpu-1 gets no answer within 3s");
  facts.own_name = {host::NameLookup::Outcome::found, "gpu-1", {"10.9.9.9", "10.9.9.8"}, "", {}};
  CHECK(first_finding(facts).evidence ==
        "this host's name gpu-1 leads to 10.9.9.9, 10.9.9.8, which is no address of this host");
  facts.own_name.addresses = {"127.0.1.1"};
  CHECK(first_finding(facts).evidence ==
        "this host's name gpu-1 leads to 127.0.1.1, which gloo then gives to the other nodes");
  facts.own_name.addresses = {"10.9.9.9", "10.0.0.5"};  // one of them is right
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a name server is slow from a second on", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master_name.took = Duration{999};
  CHECK(outline(facts) == Lines{});
  facts.master_name.took = Duration{1000};
  CHECK(outline(facts) == Lines{"name-resolution risk"});
}

TEST_CASE("rank 0 whose master is elsewhere is told, where the interfaces are known",
          "[doctor][master]") {
  doctor::HostFacts facts = healthy_host();
  facts.world.rank = 0;
  facts.world.size = 2;
  facts.world.master_address = "node9";
  facts.master_name = {host::NameLookup::Outcome::found, "node9", {"10.0.0.9"}, {}, Duration{1}};
  CHECK(first_finding(facts).evidence ==
        "RANK=0 listens on this host, and MASTER_ADDR=node9 (10.0.0.9) is no address of it");
  doctor::HostFacts other = facts;
  other.world.master_address = "10.0.0.9";
  CHECK(first_finding(other).evidence ==
        "RANK=0 listens on this host, and MASTER_ADDR=10.0.0.9 is no address of it");
  other = facts;
  other.world.rank = 1;
  CHECK(outline(other) == Lines{});
  other = facts;
  other.world.size = 1;
  CHECK(outline(other) == Lines{});
  other = facts;
  other.interfaces.clear();
  other.own_name = {};
  CHECK(outline(other) == Lines{});
  other = facts;
  other.master_name.addresses = {"fe80::1"};
  CHECK(outline(other) == Lines{});
}

TEST_CASE("torchrun on several nodes does not meet by this host's name", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.subject.command = job::recognise({"torchrun", "train.py"}, {});
  facts.localhost = {host::NameLookup::Outcome::unknown, "localhost", {}, "unknown", {}};
  CHECK(outline(facts) == Lines{});
}
