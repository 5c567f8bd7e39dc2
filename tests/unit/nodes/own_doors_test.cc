#include "safelaunch/nodes/own_doors.h"

#include <functional>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::nodes;

namespace {

/// Node 0 of two, whose ranks meet at 10.0.0.1:29500.
plan::RunPlan first_node(std::vector<std::string> command = {"torchrun", "--nnodes=2",
                                                             "train.py"}) {
  plan::RunPlan plan;
  plan.command = job::recognise(std::move(command), {});
  plan.chain.emplace_back();
  plan.party.emplace();
  plan.party->placement.nodes = 2;
  plan.party->placement.node = 0;
  plan.party->placement.head = "10.0.0.1";
  plan.party->placement.port = 29500;
  return plan;
}

NodeDoors doors_of_first_node() {
  NodeDoors doors;
  doors.doors = {{"eth1", "10.1.0.1", 0}, {"eth0", "10.0.0.1", 0}};
  return doors;
}

const Door kWhereRanksMeet{kMasterDoor, "10.0.0.1", 29500};

host::NetworkInterface interface_named(const std::string& name, const std::string& address) {
  host::NetworkInterface one;
  one.name = name;
  one.addresses = {address};
  one.up = true;
  return one;
}

/// The interface that gloo, or NCCL, would be told to take.
NodeDoors doors_under(const std::function<void(plan::RunPlan&)>& change) {
  plan::RunPlan plan = first_node();
  plan.environment["HOME"] = "/proc/nonexistent";  // nobody's ~/.nccl.conf
  plan.party->placement.head = "127.0.0.1";
  change(plan);
  return own_doors(plan);
}

}  // namespace

TEST_CASE("node 0 opens a door at the port where the ranks will meet", "[own_doors]") {
  CHECK(master_door(first_node(), doors_of_first_node()) == kWhereRanksMeet);
  plan::RunPlan by_name = first_node();
  by_name.party->placement.head = "gpu-0";
  NodeDoors doors = doors_of_first_node();
  CHECK_FALSE(master_door(by_name, doors));  // the name is not found
  doors.master = {"192.0.2.7", "10.0.0.1"};
  CHECK(master_door(by_name, doors) == kWhereRanksMeet);
}

TEST_CASE("there is no such door where another node, or the launcher itself, decides on the port",
          "[own_doors]") {
  using Change = std::function<void(plan::RunPlan&)>;
  const std::vector<std::pair<std::string, Change>> changes{
      {"another node", [](plan::RunPlan& plan) { plan.party->placement.node = 1; }},
      {"no number", [](plan::RunPlan& plan) { plan.party->placement.node.reset(); }},
      {"no port", [](plan::RunPlan& plan) { plan.party->placement.port.reset(); }},
      {"a port of the user's",
       [](plan::RunPlan& plan) {
         plan.options.port = {settings::PortWish::How::range, {30000, 30000}};
       }},
      {"an address that is not ours",
       [](plan::RunPlan& plan) { plan.party->placement.head = "10.9.9.9"; }},
      {"torchrun's c10d",
       [](plan::RunPlan& plan) {
         plan.command =
             job::recognise({"torchrun", "--nnodes=2", "--rdzv-backend=c10d", "train.py"}, {});
       }},
  };
  for (const auto& [what, change] : changes) {
    plan::RunPlan plan = first_node();
    change(plan);
    INFO(what);
    CHECK_FALSE(master_door(plan, doors_of_first_node()));
  }
}

TEST_CASE("the port that the ranks meet at stays the user's under these options", "[own_doors]") {
  for (const auto how : {settings::PortWish::How::automatic, settings::PortWish::How::keep}) {
    plan::RunPlan plan = first_node();
    plan.options.port = {how, {}};
    CHECK(master_door(plan, doors_of_first_node()) == kWhereRanksMeet);
  }
  plan::RunPlan is_static = first_node({"torchrun", "--nnodes=2", "--rdzv-backend=static", "t.py"});
  CHECK(master_door(is_static, doors_of_first_node()) == kWhereRanksMeet);
  // Where safelaunch spawns the ranks, the command's rendezvous is nobody's.
  plan::RunPlan spawned = first_node({"torchrun", "--nnodes=2", "--rdzv-backend=c10d", "t.py"});
  spawned.spawn.emplace();
  CHECK(master_door(spawned, doors_of_first_node()) == kWhereRanksMeet);
}

TEST_CASE("a node has four doors, those of the job's interfaces first", "[own_doors]") {
  std::vector<host::NetworkInterface> all;
  for (int i = 0; i < 9; ++i)
    all.push_back(interface_named("eth" + std::to_string(i), "10.0.0." + std::to_string(i)));
  NodeDoors used;
  used.nccl = "eth8";
  used.gloo = "eth7";
  std::vector<std::string> names;
  for (const Door& door : doors_to_open(all, used)) names.push_back(door.interface);
  CHECK(names == std::vector<std::string>{"eth7", "eth8", "eth0", "eth1"});
}

TEST_CASE("an interface of containers has a door where the job uses it", "[own_doors]") {
  const std::vector<host::NetworkInterface> all{interface_named("docker0", "172.17.0.1"),
                                                interface_named("wg0", "10.8.0.1")};
  CHECK(doors_to_open(all, {}).empty());
  NodeDoors used;
  used.gloo = "docker0";
  CHECK(doors_to_open(all, used) == std::vector<Door>{{"docker0", "172.17.0.1", 0}});
}

TEST_CASE("an interface without an address that others could use has no door", "[own_doors]") {
  host::NetworkInterface none = interface_named("eth0", "");
  none.addresses.clear();
  host::NetworkInterface loop = interface_named("lo", "127.0.0.1");
  loop.loopback = true;
  NodeDoors used;
  used.nccl = "eth0";
  used.meets = "lo";
  CHECK(doors_to_open(std::vector{none, loop, interface_named("eth1", "fe80::1")}, used).empty());
}

TEST_CASE("each start of a node has a name of its own, which others cannot guess", "[own_doors]") {
  const NodeDoors one = doors_under([](plan::RunPlan&) {});
  const NodeDoors other = doors_under([](plan::RunPlan&) {});
  CHECK(one.name.size() == 16);
  CHECK(one.name != other.name);
}

TEST_CASE("a node that the master's address leads to itself has no way towards it", "[own_doors]") {
  const NodeDoors doors = doors_under([](plan::RunPlan&) {});
  CHECK(doors.meets.empty());
  CHECK(doors.master.empty());  // an address is no name
}

TEST_CASE("the interface of gloo is the first that the job will find in its variable",
          "[own_doors]") {
  CHECK(doors_under([](plan::RunPlan&) {}).gloo.empty());
  CHECK(doors_under([](plan::RunPlan& plan) {
          plan.environment["GLOO_SOCKET_IFNAME"] = "eth3,eth4";
        }).gloo == "eth3");
  CHECK(doors_under([](plan::RunPlan& plan) {
          plan.chain.front().env["GLOO_SOCKET_IFNAME"].value = "ib0";
        }).gloo == "ib0");
}

TEST_CASE("of a variable --set counts, then the user's environment, then the profile",
          "[own_doors]") {
  const auto gloo = [](bool set, bool user) {
    return doors_under([&](plan::RunPlan& plan) {
             plan.chain.front().env["GLOO_SOCKET_IFNAME"].value = "profile0";
             if (user) plan.environment["GLOO_SOCKET_IFNAME"] = "user0";
             if (set) plan.overrides.env["GLOO_SOCKET_IFNAME"].value = "set0";
           })
        .gloo;
  };
  CHECK(gloo(true, true) == "set0");
  CHECK(gloo(false, true) == "user0");
  CHECK(gloo(false, false) == "profile0");
}

TEST_CASE("NCCL's interface is named by a variable or by NCCL's own file", "[own_doors]") {
  CHECK_FALSE(doors_under([](plan::RunPlan& plan) {
                plan.environment["NCCL_CONF_FILE"] = "/proc/nonexistent";
              }).nccl_named);
  CHECK(doors_under([](plan::RunPlan& plan) {
          plan.environment["NCCL_SOCKET_IFNAME"] = "eth0";
        }).nccl_named);
  const safelaunch::testing::TemporaryFolder folder;
  const std::string file = folder.write("nccl.conf", "NCCL_SOCKET_IFNAME=eth0\n");
  CHECK(doors_under([&](plan::RunPlan& plan) {
          plan.environment["NCCL_CONF_FILE"] = file;
        }).nccl_named);
}
