#include "safelaunch/job/worker.h"

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
