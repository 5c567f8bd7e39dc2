#pragma once

#include <functional>

#include "catch.h"
#include "safelaunch/nodes/mesh.h"
#include "safelaunch/nodes/own_doors.h"

namespace safelaunch::nodes {

/// Nodes gpu-0, gpu-1, … with two interfaces each, of which NCCL takes eth1 by itself; each has
/// reached all that it tried within 0.2 ms.
class Cluster {
 public:
  explicit Cluster(int nodes) {
    for (int seat = 0; seat < nodes; ++seat) {
      MeshNode& node = mesh[seat];
      node.host = "gpu-" + std::to_string(seat);
      node.doors.name = "name" + std::to_string(seat);
      node.doors.doors = {{"eth0", "10.0.0." + std::to_string(seat), 1000},
                          {"eth1", "10.1.0." + std::to_string(seat), 1001}};
      node.doors.nccl = "eth1";
      node.doors.meets = "eth0";
      node.ways.emplace();
      for (const int other : seats_to_reach(seat, nodes))
        for (const char* interface : {"eth0", "eth1"})
          node.ways->push_back({other, interface, Way::End::reached, std::chrono::microseconds(200),
                                std::chrono::microseconds(0), std::chrono::microseconds(100)});
    }
  }

  void each(const std::function<void(int from, Way& way)>& change) {
    for (auto& [seat, node] : mesh)
      for (Way& way : *node.ways) change(seat, way);
  }
  void cut(int to, const std::string& interface, Way::End end = Way::End::no_answer) {
    each([&](int, Way& way) {
      if (way.seat == to && way.interface == interface) way = {to, interface, end};
    });
  }
  void set_clock(int seat, std::chrono::microseconds ahead) {
    each([&](int from, Way& way) {
      if (way.seat == seat) *way.ahead += ahead;
      if (from == seat) *way.ahead -= ahead;
    });
  }
  [[nodiscard]] std::vector<Finding> findings() const { return mesh_findings(mesh); }
  [[nodiscard]] Finding only_finding() const {
    const auto all = findings();
    REQUIRE(all.size() == 1);
    CHECK(all.front().severity == Severity::risk);
    return all.front();
  }

  Mesh mesh;
};

}  // namespace safelaunch::nodes
