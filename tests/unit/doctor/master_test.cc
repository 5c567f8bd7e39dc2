#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Catch::Matchers::ContainsSubstring;
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

  facts.master = host::Reachability{host::Reach::no_route, "No route to host", Duration{1}};
  CHECK(outline(facts) == Lines{"connect-failed blocks"});
  CHECK(first_finding(facts).evidence == "there is no way to node0:29500: No route to host");
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
  CHECK(outline(facts) == Lines{"name-resolution risk"});
  facts.own_name.outcome = host::NameLookup::Outcome::skipped;  // the resolver was not asked
  CHECK(outline(facts) == Lines{});
}

TEST_CASE("a slow name server is a risk even where it knows the name", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master_name.took = Duration{5200};
  CHECK_THAT(first_finding(facts).evidence, ContainsSubstring("took 5.2s for node0"));
}

TEST_CASE("a master that is the node itself blocks every node but the first", "[doctor][master]") {
  doctor::HostFacts facts = second_node();
  facts.master_name.addresses = {"127.0.1.1"};
  facts.to_master = {host::Route::Kind::local, "lo", {}};
  CHECK(outline(facts) == Lines{"name-resolution blocks"});
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
