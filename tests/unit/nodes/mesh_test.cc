#include "cluster_of_ways.h"
#include "safelaunch/base/cause_ids.h"

using namespace safelaunch;
using namespace safelaunch::nodes;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

TEST_CASE("a master's name that is another address on some node is told with the hosts", "[mesh]") {
  Cluster cluster(4);
  for (auto& [seat, node] : cluster.mesh) node.doors.master = {"10.0.0.0"};
  CHECK(cluster.findings().empty());
  cluster.mesh[3].doors.master = {"10.9.9.9"};
  const Finding finding = cluster.only_finding();
  CHECK(finding.cause == cause::kNameResolution);
  CHECK(finding.evidence ==
        "the name of the ranks' master leads to 10.0.0.0 on gpu-0, gpu-1 and gpu-2, to 10.9.9.9 on "
        "gpu-3");
}

TEST_CASE("a master's name that leads another node to itself is told", "[mesh]") {
  Cluster cluster(2);
  for (auto& [seat, node] : cluster.mesh) node.doors.master = {"127.0.0.1"};
  CHECK(cluster.only_finding().evidence ==
        "the name of the ranks' master leads to 127.0.0.1 on gpu-1");
}

TEST_CASE("of a master's name that is any address of the master nothing is said", "[mesh]") {
  Cluster cluster(4);
  cluster.mesh[0].doors.master = {"127.0.1.1"};  // as Debian writes it on the host itself
  cluster.mesh[1].doors.master = {"10.0.0.0", "fd00::1"};
  cluster.mesh[2].doors.master = {"fd00::1", "10.0.0.0"};
  cluster.mesh[3].doors.master = {"10.1.0.0"};  // its other interface
  CHECK(cluster.findings().empty());
  cluster.mesh[3].doors.master = {};  // not known there
  CHECK(cluster.findings().empty());
}

TEST_CASE("the ways are recorded, of many nodes only those that are not reached", "[mesh]") {
  Cluster few(3);
  few.cut(2, "eth1");
  const report::record::Ways ways = record_of(few.mesh);
  CHECK(ways.hosts == std::vector<std::string>{"gpu-0", "gpu-1", "gpu-2"});
  CHECK(ways.end.size() == 12);
  CHECK(ways.left_out == 0);
  CHECK(std::ranges::count(ways.end, "no answer") == 2);
  CHECK(ways.round_trip_us.front() == 200);
  Cluster many(200);
  many.cut(2, "eth1");
  const report::record::Ways cut = record_of(many.mesh);
  CHECK(std::ranges::all_of(cut.end, [](const auto& end) { return end == "no answer"; }));
  CHECK(cut.left_out > 1'000);
}

namespace {

/// Node 0 listens at the master's port, too, and all others have tried it.
void add_master_door(Cluster& cluster, Way::End end) {
  cluster.mesh[0].doors.doors.push_back({kMasterDoor, "10.0.0.0", 29500});
  for (auto& [seat, node] : cluster.mesh)
    if (seat != 0) node.ways->push_back({0, kMasterDoor, end, 200us, 0us, 100us});
}

}  // namespace

TEST_CASE("a firewall that does not pass the ranks' port is told", "[mesh]") {
  Cluster cluster(3);
  add_master_door(cluster, Way::End::no_answer);
  const Finding finding = cluster.only_finding();
  CHECK(finding.cause == cause::kConnectFailed);
  CHECK(finding.evidence ==
        "gpu-1 and gpu-2 cannot reach gpu-0 on port 29500 (10.0.0.0), where the ranks meet: no "
        "answer");
  CHECK(finding.remedy ==
        "let the firewall of gpu-0 pass port 29500, or take a port that it passes");
  cluster.mesh[0].doors.firewall = host::Firewall::ufw;
  CHECK(cluster.only_finding().remedy ==
        "let the firewall of gpu-0 pass port 29500, or take a port that it passes; there: sudo ufw "
        "allow 29500/tcp");
}

TEST_CASE("of a port that is reached, or whose whole address is not, nothing more is said",
          "[mesh]") {
  Cluster healthy(3);
  add_master_door(healthy, Way::End::reached);
  CHECK(healthy.findings().empty());
  CHECK(interface_for_all(healthy.mesh) == "eth0");
  Cluster cut(3);
  add_master_door(cut, Way::End::no_answer);
  cut.cut(0, "eth0");
  CHECK_THAT(cut.only_finding().evidence, ContainsSubstring("gpu-0 on eth0"));
}

TEST_CASE("of nodes that reach each other there is nothing to say", "[mesh]") {
  for (const int nodes : {2, 3, 16, 17, 200}) CHECK(Cluster(nodes).findings().empty());
  CHECK(mesh_findings({}).empty());
}

TEST_CASE(
    "a node that is not reached on the interface that NCCL takes is named, and one that works",
    "[mesh]") {
  Cluster cluster(3);
  cluster.cut(2, "eth1");
  const Finding finding = cluster.only_finding();
  CHECK(finding.cause == cause::kWrongInterface);
  CHECK(finding.evidence ==
        "gpu-0 and gpu-1 cannot reach gpu-2 on eth1 (10.1.0.2), which NCCL takes by itself: no "
        "answer");
  CHECK(finding.remedy ==
        "eth0 works between all nodes: export NCCL_SOCKET_IFNAME==eth0 GLOO_SOCKET_IFNAME=eth0 on "
        "each");
}

TEST_CASE("a way that is cut in one direction names that direction", "[mesh]") {
  Cluster cluster(2);
  cluster.cut(0, "eth1", Way::End::refused);
  CHECK(cluster.only_finding().evidence ==
        "gpu-1 cannot reach gpu-0 on eth1 (10.1.0.0), which NCCL takes by itself: connections are "
        "refused");
}

TEST_CASE("where no interface works for all none is offered", "[mesh]") {
  Cluster cluster(2);
  cluster.cut(1, "eth1", Way::End::no_route);
  cluster.cut(0, "eth0");
  for (const Finding& finding : cluster.findings()) {
    CHECK(finding.cause == cause::kConnectFailed);
    CHECK(finding.remedy.find("NCCL_SOCKET_IFNAME") == std::string::npos);
    CHECK_THAT(finding.remedy, ContainsSubstring("ip route get 10."));
  }
  CHECK(cluster.findings().size() == 2);
}

TEST_CASE("an interface that the job does not use may be cut", "[mesh]") {
  Cluster cluster(3);
  cluster.cut(1, "eth0");
  CHECK(cluster.findings().empty());
  CHECK(interface_for_all(cluster.mesh) == "eth1");
}

TEST_CASE("the master is reached where the ranks meet, or another address is offered", "[mesh]") {
  Cluster cluster(3);
  cluster.cut(0, "eth0");
  const Finding finding = cluster.only_finding();
  CHECK_THAT(finding.evidence, ContainsSubstring("gpu-0 on eth0 (10.0.0.0), which leads to the"));
  CHECK(finding.remedy == "eth1 works between all nodes: let the ranks meet at 10.1.0.0");
}

TEST_CASE("an interface is judged by its use: a variable names it", "[mesh]") {
  Cluster cluster(2);
  for (auto& [seat, node] : cluster.mesh) {
    node.doors.nccl = "eth0";
    node.doors.gloo = "eth1";
    node.doors.nccl_named = true;
  }
  cluster.cut(1, "eth1");
  CHECK_THAT(cluster.only_finding().evidence, ContainsSubstring("which GLOO_SOCKET_IFNAME names"));
  cluster.cut(1, "eth0");
  CHECK_THAT(cluster.findings().front().evidence,
             ContainsSubstring("which NCCL_SOCKET_IFNAME names"));
}

TEST_CASE("a host without a GPU is judged by the interface towards the master", "[mesh]") {
  Cluster cluster(3);
  for (auto& [seat, node] : cluster.mesh) node.doors.nccl.clear();
  cluster.cut(1, "eth1");
  CHECK(cluster.findings().empty());
  cluster.cut(1, "eth0");
  CHECK_THAT(cluster.only_finding().evidence, ContainsSubstring("gpu-1 on eth0 (10.0.0.1)"));
}

TEST_CASE("an address that every host has is reached on none", "[mesh]") {
  Cluster cluster(2);
  for (auto& [seat, node] : cluster.mesh) {
    node.doors.doors.push_back({"br-1", "172.18.0.1", 1002});
    node.doors.nccl = "br-1";
    node.ways->push_back({1 - seat, "br-1", Way::End::other_host});
  }
  REQUIRE(cluster.findings().size() == 2);
  CHECK_THAT(cluster.findings().front().evidence,
             ContainsSubstring("br-1 (172.18.0.1), which NCCL takes by itself: another host has"));
  CHECK(interface_for_all(cluster.mesh) == "eth0");
}

TEST_CASE("a node that has told nothing is blamed for nothing, and no interface is known for all",
          "[mesh]") {
  Cluster cluster(3);
  cluster.cut(1, "eth1");
  cluster.mesh[2].ways.reset();
  const Finding finding = cluster.only_finding();
  CHECK_THAT(finding.evidence, ContainsSubstring("gpu-0 cannot reach gpu-1"));
  CHECK(finding.cause == cause::kConnectFailed);
  cluster.mesh[0].ways.reset();
  CHECK(cluster.findings().empty());
}

TEST_CASE("what could not be tried is no finding", "[mesh]") {
  Cluster cluster(2);
  cluster.cut(1, "eth1", Way::End::unknown);
  CHECK(cluster.findings().empty());
  CHECK(interface_for_all(cluster.mesh) == "eth0");
}

TEST_CASE("ways to seats and interfaces that nobody has are passed over", "[mesh]") {
  Cluster cluster(2);
  cluster.mesh[0].ways->push_back({7, "eth1", Way::End::no_answer});
  cluster.mesh[0].ways->push_back({1, "eth9", Way::End::no_answer});
  cluster.mesh[0].ways->push_back({0, "eth1", Way::End::no_answer});
  CHECK(cluster.findings().empty());
}

TEST_CASE("many cut ways are a few lines", "[mesh]") {
  Cluster cluster(200);
  for (int seat = 0; seat < 200; ++seat) cluster.cut(seat, "eth1");
  const auto findings = cluster.findings();
  REQUIRE(findings.size() == 4);
  CHECK_THAT(findings.front().evidence, ContainsSubstring("and 5 more cannot reach gpu-0"));
  CHECK_THAT(findings.back().evidence, ContainsSubstring("; 196 such ways more"));
}

TEST_CASE("different interfaces towards the master are told where one works for all", "[mesh]") {
  Cluster cluster(3);
  cluster.mesh[2].doors.meets = "eth1";
  const Finding finding = cluster.only_finding();
  CHECK(finding.evidence ==
        "the way to the ranks' master leads over eth0 on gpu-0 and gpu-1, over eth1 on gpu-2");
  CHECK_THAT(finding.remedy, ContainsSubstring("NCCL_SOCKET_IFNAME==eth0"));

  SECTION("machines that name their interfaces differently are no finding") {
    cluster.mesh[2].doors.doors = {{"ens5", "10.0.0.2", 1}};
    cluster.mesh[2].doors.meets = "ens5";
    CHECK(cluster.findings().empty());
  }
  SECTION("who names the interface on all nodes knows") {
    for (auto& [seat, node] : cluster.mesh) node.doors.nccl_named = true;
    CHECK(cluster.findings().empty());
  }
}

TEST_CASE("a small job tries all ways, a big one n log n, and all nodes are tied together",
          "[mesh]") {
  CHECK(seats_to_reach(1, 4) == std::vector<int>{2, 3, 0});
  CHECK(seats_to_reach(0, 16).size() == 15);
  CHECK(seats_to_reach(15, 17) == std::vector<int>{16, 0, 2, 6, 14});
  CHECK(seats_to_reach(0, 10'000).size() == 14);
  CHECK(seats_to_reach(0, 1).empty());
}

TEST_CASE("doors and ways travel, and what is none is left out", "[mesh]") {
  const Cluster cluster(2);
  AllDoors all;
  for (const auto& [seat, node] : cluster.mesh) all[seat] = node.doors;
  CHECK(all_doors_from(to_text(all)) == all);
  CHECK(doors_from(to_text(all[1])) == all[1]);
  std::vector<Way> ways = *cluster.mesh.at(0).ways;
  ways.push_back({1, "ib0", Way::End::other_host});
  CHECK(ways_from(to_text(ways)) == ways);

  for (const char* hostile : {"", "[", "3", "{}", R"([3, {"seat": -1}, {"seat": "x"}])",
                              R"([{"seat": 1, "if": "eth0", "end": "gone"}])"}) {
    for (const auto& [seat, doors] : all_doors_from(hostile)) CHECK(doors.doors.empty());
    CHECK(ways_from(hostile).empty());
    CHECK(doors_from(hostile).doors.empty());
  }
  CHECK(doors_from(R"({"doors": [{"if": "eth0", "at": "1.2.3.4", "port": 70000}]})").doors.empty());
  const auto endless =
      ways_from(R"([{"seat": 1, "if": "a", "end": "reached", "ahead_us": 9223372036854775807}])");
  REQUIRE(endless.size() == 1);
  CHECK_FALSE(endless.front().ahead);
}

TEST_CASE("doors stand at the interfaces that the job uses first, one address each", "[mesh]") {
  const auto interface = [](std::string name, std::vector<std::string> addresses) {
    host::NetworkInterface one;
    one.loopback = name == "lo";
    one.name = std::move(name);
    one.addresses = std::move(addresses);
    one.up = true;
    return one;
  };
  std::vector<host::NetworkInterface> all{interface("lo", {"127.0.0.1"}),
                                          interface("docker0", {"172.17.0.1"}),
                                          interface("eth0", {"fe80::1", "2001:db8::1", "10.0.0.1"}),
                                          interface("eth1", {"fe80::2", "2001:db8::2"}),
                                          interface("eth2", {"169.254.3.4"}),
                                          interface("tun0", {"10.8.0.1"})};
  const auto names = [&](const NodeDoors& used) {
    std::string text;
    for (const Door& door : doors_to_open(all, used))
      text += door.interface + " " + door.address + "\n";
    return text;
  };
  CHECK(names({}) == "eth0 10.0.0.1\neth1 2001:db8::2\n");
  NodeDoors used;
  used.meets = "tun0";
  CHECK(names(used) == "tun0 10.8.0.1\neth0 10.0.0.1\neth1 2001:db8::2\n");
  all[2].up = false;
  CHECK(names({}) == "eth1 2001:db8::2\n");
}

TEST_CASE("each way that is cut is told in words of its own", "[mesh]") {
  const std::vector<std::pair<Way::End, std::string>> ends{
      {Way::End::no_answer, "no answer"},
      {Way::End::refused, "connections are refused"},
      {Way::End::no_route, "no route"},
      {Way::End::other_host, "another host has this address"}};
  for (const auto& [end, words] : ends) {
    Cluster cluster(2);
    cluster.cut(1, "eth1", end);
    CHECK(cluster.only_finding().evidence ==
          "gpu-0 cannot reach gpu-1 on eth1 (10.1.0.1), which NCCL takes by itself: " + words);
  }
}

TEST_CASE("a node that others fail to reach in different ways has a line for each", "[mesh]") {
  Cluster cluster(3);
  cluster.each([](int from, Way& way) {
    if (way.seat != 2 || way.interface != "eth1") return;
    way = {2, "eth1", from == 0 ? Way::End::refused : Way::End::no_answer};
  });
  const auto findings = cluster.findings();
  REQUIRE(findings.size() == 2);
  CHECK_THAT(findings[0].evidence, ContainsSubstring("gpu-1 cannot reach gpu-2"));
  CHECK_THAT(findings[0].evidence, ContainsSubstring(": no answer"));
  CHECK_THAT(findings[1].evidence, ContainsSubstring("gpu-0 cannot reach gpu-2"));
  CHECK_THAT(findings[1].evidence, ContainsSubstring(": connections are refused"));
}

TEST_CASE("four lines of cut ways are whole, of a fifth the last one tells", "[mesh]") {
  for (const int nodes : {4, 5}) {
    Cluster cluster(nodes);
    for (int seat = 0; seat < nodes; ++seat) cluster.cut(seat, "eth1");
    const auto findings = cluster.findings();
    REQUIRE(findings.size() == 4);
    const bool more = findings.back().evidence.find("; 1 such ways more") != std::string::npos;
    CHECK(more == (nodes == 5));
  }
}

TEST_CASE("three that ask are named, of four the rest is counted", "[mesh]") {
  Cluster three(4);
  three.cut(3, "eth1");
  CHECK_THAT(three.only_finding().evidence, ContainsSubstring("gpu-0, gpu-1 and gpu-2 cannot"));
  Cluster four(5);
  four.cut(4, "eth1");
  CHECK_THAT(four.only_finding().evidence,
             ContainsSubstring("gpu-0, gpu-1, gpu-2 and 1 more cannot reach gpu-4"));
}

TEST_CASE("the way to a node other than the master counts where nothing else is known", "[mesh]") {
  Cluster cluster(3);
  for (auto& [seat, node] : cluster.mesh) node.doors.nccl.clear();
  cluster.cut(2, "eth0");
  CHECK_THAT(cluster.only_finding().evidence,
             ContainsSubstring("gpu-2 on eth0 (10.0.0.2), which leads to the ranks' master"));
  cluster.mesh[2].doors.gloo = "eth1";  // the job's own word
  CHECK(cluster.findings().empty());
}

TEST_CASE("where no interface works for all, the asker is told to look at its route", "[mesh]") {
  Cluster cluster(2);
  cluster.cut(1, "eth1");
  cluster.cut(0, "eth0", Way::End::unknown);
  const Finding finding = cluster.only_finding();
  CHECK(finding.remedy ==
        "`ip route get 10.1.0.1` on gpu-0; let the firewall of gpu-1 pass what comes from the "
        "other nodes");
  cluster.mesh[1].doors.firewall = host::Firewall::firewalld;
  CHECK_THAT(cluster.only_finding().remedy,
             EndsWith("; there: sudo firewall-cmd --zone=trusted --add-source=10.1.0.0"));
}

TEST_CASE("an interface for all is on every node, and the one towards the master before others",
          "[mesh]") {
  Cluster cluster(3);
  CHECK(interface_for_all(cluster.mesh) == "eth0");
  cluster.mesh[0].doors.meets = "eth1";
  CHECK(interface_for_all(cluster.mesh) == "eth1");
  cluster.mesh[1].doors.doors.pop_back();  // no eth1 there
  CHECK(interface_for_all(cluster.mesh) == "eth0");
  cluster.mesh[2].doors.doors.erase(cluster.mesh[2].doors.doors.begin());  // and no eth0 here
  CHECK(interface_for_all(cluster.mesh).empty());
}

TEST_CASE("one node alone has no interface for all", "[mesh]") {
  CHECK(interface_for_all({}).empty());
  CHECK(interface_for_all(Cluster(1).mesh).empty());
}

TEST_CASE("different routes are not told where ways are cut: those are the news", "[mesh]") {
  Cluster cluster(3);
  cluster.mesh[2].doors.meets = "eth1";
  cluster.cut(1, "eth1");
  for (const Finding& finding : cluster.findings())
    CHECK(finding.evidence.find("leads over") == std::string::npos);
}

TEST_CASE("of many addresses for the master's name four are told", "[mesh]") {
  Cluster cluster(6);
  for (auto& [seat, node] : cluster.mesh) node.doors.master = {"192.0.2." + std::to_string(seat)};
  const std::string evidence = cluster.only_finding().evidence;
  CHECK_THAT(evidence, ContainsSubstring("to 192.0.2.3 on gpu-3"));
  CHECK_THAT(evidence, !ContainsSubstring("gpu-4"));
}

TEST_CASE("a master's name that is ::1 on another node leads that node to itself", "[mesh]") {
  Cluster cluster(2);
  cluster.mesh[1].doors.master = {"::1"};
  CHECK(cluster.only_finding().evidence == "the name of the ranks' master leads to ::1 on gpu-1");
}

TEST_CASE("several faults at once are each told, cut ways first", "[mesh]") {
  Cluster cluster(4);
  cluster.cut(1, "eth1");
  cluster.set_clock(3, 5s);
  cluster.mesh[2].doors.master = {"192.0.2.1"};
  cluster.mesh[3].doors.master = {"192.0.2.2"};
  std::vector<std::string> causes;
  for (const Finding& finding : cluster.findings()) causes.push_back(finding.cause);
  CHECK(causes == std::vector<std::string>{cause::kWrongInterface, cause::kNameResolution,
                                           cause::kClockSkew});
}
