#pragma once

#include <chrono>
#include <map>

#include "safelaunch/base/finding.h"
#include "safelaunch/host/firewall.h"
#include "safelaunch/report/record.h"

/// The ways between the nodes of one job: the doors at which each can be reached, the visits of the
/// others there, and their meaning for the job. Values only.
namespace safelaunch::nodes {

/// The name, in the place of an interface, of the door of node 0 at the port where the ranks will
/// meet: a firewall may pass other ports than this one.
inline constexpr const char* kMasterDoor = "master port";

/// An address at which a node listens for the others, one an interface.
struct Door {
  std::string interface;
  std::string address;
  int port = 0;
  bool operator==(const Door&) const = default;
};

/// How one node can be reached.
struct NodeDoors {
  /// A random name. The node tells it to every visitor at a door: so another host that has the same
  /// address (docker0 has one on every host) is not taken for it.
  std::string name;
  std::vector<Door> doors{};
  std::string nccl{};   ///< the interface that NCCL takes here; empty: no GPU, or none
  std::string gloo{};   ///< the interface that GLOO_SOCKET_IFNAME names; empty: it is not set
  std::string meets{};  ///< the interface of the way to the master's address; empty: not known
  /// The addresses that this node finds for the master's name; none where that is an address, or is
  /// not found.
  std::vector<std::string> master{};
  bool nccl_named = false;                            ///< NCCL_SOCKET_IFNAME is set
  host::Firewall firewall = host::Firewall::unknown;  ///< the tool that would let others pass
  bool operator==(const NodeDoors&) const = default;
};

/// The result of a visit to one door of another node.
struct Way {
  enum class End {
    reached,
    no_answer,
    refused,
    no_route,
    other_host,  ///< somebody answers there, but not that node
    unknown,     ///< this node could not try
  };
  int seat = 0;  ///< the seat of the other node
  std::string interface {};
  End end = End::unknown;
  std::chrono::microseconds round_trip{};  ///< the fastest round trip that TCP saw; 0: not known
  /// By how much the other node's clock is ahead of this one's, give or take the error.
  std::optional<std::chrono::microseconds> ahead{};
  std::chrono::microseconds error{};
  bool operator==(const Way&) const = default;
};

/// A node as the leader knows it.
struct MeshNode {
  std::string host;
  NodeDoors doors;
  std::optional<std::vector<Way>> ways{};  ///< its visits to the others; nullopt: it has not told
};
/// The nodes by their seats.
using Mesh = std::map<int, MeshNode>;

/// The doors of each node by its seat, as the leader tells them to all.
using AllDoors = std::map<int, NodeDoors>;

[[nodiscard]] std::string to_text(const NodeDoors& doors);
[[nodiscard]] std::string to_text(const AllDoors& doors);
[[nodiscard]] std::string to_text(const std::vector<Way>& ways);
/// These read text that another node has written, and leave out the pieces that are wrong.
[[nodiscard]] NodeDoors doors_from(std::string_view text);
[[nodiscard]] AllDoors all_doors_from(std::string_view text);
[[nodiscard]] std::vector<Way> ways_from(std::string_view text);

/// The seats that one node tries to reach: all others of a small job, else those 1, 2, 4, … seats
/// further on, so that all ways together are n log n.
[[nodiscard]] std::vector<int> seats_to_reach(int seat, int nodes);

/// An interface that is on every node and at which each was reached by all that tried; empty where
/// there is none, or where a node has not told. Of several the one that leads to the master.
[[nodiscard]] std::string interface_for_all(const Mesh& mesh);

/// The risks that the ways show: a node that another one cannot reach on the interface that is
/// used, different interfaces towards the master, a master's name that is another address on some
/// node, a slow way, clocks that differ by more than a second. Nothing is said of a way that was
/// not tried.
[[nodiscard]] std::vector<Finding> mesh_findings(const Mesh& mesh);

/// The results of all visits, for the record.
[[nodiscard]] report::record::Ways record_of(const Mesh& mesh);

}  // namespace safelaunch::nodes
