#include "safelaunch/job/worker.h"

#include <algorithm>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::job;

namespace {

using Sets = std::vector<std::vector<int>>;

const std::vector<std::vector<int>> kTwoNodes = {{0, 1, 2, 3}, {4, 5, 6, 7}};

}  // namespace

TEST_CASE("no binding leaves every worker free", "[binding]") {
  CHECK(bind_workers(Binding::none, kTwoNodes, 2) == Sets{{}, {}});
  CHECK(bind_workers(Binding::cores, {}, 2) == Sets{{}, {}});
}

TEST_CASE("workers are spread over NUMA nodes in order", "[binding]") {
  CHECK(bind_workers(Binding::numa, kTwoNodes, 2) == Sets{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(bind_workers(Binding::numa, kTwoNodes, 3) ==
        Sets{{0, 1, 2, 3}, {0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(bind_workers(Binding::numa, kTwoNodes, 1) == Sets{{0, 1, 2, 3}});
}

TEST_CASE("cores are divided among the workers of a node", "[binding]") {
  CHECK(bind_workers(Binding::cores, kTwoNodes, 4) == Sets{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(bind_workers(Binding::cores, kTwoNodes, 3) == Sets{{0, 1}, {2, 3}, {4, 5, 6, 7}});
  const std::vector<std::vector<int>> uneven = {{0, 1, 2}};
  CHECK(bind_workers(Binding::cores, uneven, 2) == Sets{{0}, {1, 2}});
}

TEST_CASE("more workers than cores share them, and nobody gets none", "[binding]") {
  const std::vector<std::vector<int>> small = {{0, 1}};
  for (const auto& cpus : bind_workers(Binding::cores, small, 5)) CHECK(cpus.size() == 1);
}

TEST_CASE("a NUMA node without CPUs gets no worker", "[binding]") {
  const std::vector<std::vector<int>> nodes = {{}, {4, 5}};
  CHECK(bind_workers(Binding::numa, nodes, 2) == Sets{{4, 5}, {4, 5}});
}

namespace {

// Nodes of so many CPUs each, numbered on.
Sets nodes_of(const std::vector<int>& sizes) {
  Sets nodes;
  int cpu = 0;
  for (const int size : sizes) {
    nodes.emplace_back();
    for (int i = 0; i < size; ++i) nodes.back().push_back(cpu++);
  }
  return nodes;
}

bool lies_in_one_of(const Sets& nodes, const std::vector<int>& cpus) {
  return std::ranges::any_of(nodes,
                             [&](const auto& node) { return std::ranges::includes(node, cpus); });
}

}  // namespace

TEST_CASE("whatever the nodes and the number of workers, each worker has CPUs of one node",
          "[binding]") {
  for (const auto& sizes :
       {std::vector<int>{1}, {4}, {4, 4}, {0, 4}, {3, 5}, {1, 8, 0, 2}, {2, 2, 2, 2}}) {
    const Sets nodes = nodes_of(sizes);
    for (int workers = 1; workers <= 9; ++workers) {
      const Sets shared = bind_workers(Binding::numa, nodes, workers);
      const Sets alone = bind_workers(Binding::cores, nodes, workers);
      REQUIRE(shared.size() == static_cast<std::size_t>(workers));
      for (std::size_t i = 0; i < shared.size(); ++i) {
        INFO(sizes.size() << " nodes, worker " << i << " of " << workers);
        CHECK(std::ranges::find(nodes, shared[i]) != nodes.end());
        CHECK_FALSE(alone[i].empty());
        CHECK(lies_in_one_of(nodes, alone[i]));
        CHECK(std::ranges::includes(shared[i], alone[i]));
      }
    }
  }
}

TEST_CASE("workers that have a CPU each share none, and leave none over", "[binding]") {
  for (const int workers : {1, 2, 3, 4, 6, 8}) {
    std::vector<int> all;
    for (const auto& cpus : bind_workers(Binding::cores, nodes_of({8}), workers))
      all.insert(all.end(), cpus.begin(), cpus.end());
    CHECK(all == nodes_of({8}).front());
  }
}

TEST_CASE("without workers there is nothing to bind", "[binding]") {
  CHECK(bind_workers(Binding::cores, kTwoNodes, 0) == Sets{});
  CHECK(bind_workers(Binding::numa, kTwoNodes, -1) == Sets{});
}
