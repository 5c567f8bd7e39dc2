#include "safelaunch/host/process_tree.h"

#include <algorithm>

#include "catch.h"
#include "child.h"
#include "fake_process_table.h"

using namespace safelaunch;

using namespace safelaunch::host;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;
using safelaunch::testing::FakeProcessTable;

namespace {

std::vector<int> pids(const std::vector<ProcessFacts>& processes) {
  std::vector<int> pids;
  for (const auto& process : processes) pids.push_back(process.id.pid);
  return pids;
}

}  // namespace

TEST_CASE("a tree is listed from the root, parents first, without its neighbours") {
  FakeProcessTable table;
  table.add(1, 0).add(10, 1).add(12, 10).add(11, 12).add(20, 1).add(21, 20);

  CHECK(pids(tree_of({10, 100}, table)) == std::vector{10, 12, 11});
}

TEST_CASE("a root whose pid another process has got has no tree") {
  FakeProcessTable table;
  table.add(1, 0).add(10, 1).add(11, 10);

  CHECK(tree_of({10, 99}, table).empty());
}

TEST_CASE("children and grandchildren are found in the kernel's lists") {
  Child child([] {
    if (::fork() == 0) ::fork();
    ::pause();
  });

  CHECK(eventually([&] { return tree_of(child.id(), Procfs()).size() == 3; }));
  const auto tree = tree_of(child.id(), Procfs());
  CHECK(tree.front().id == child.id());
  CHECK(tree.back().parent == tree[1].id.pid);
}

TEST_CASE("the whole table holds our own processes, and of one user only his") {
  Child child([] { ::pause(); });
  const auto holds_child = [&](const std::vector<ProcessFacts>& processes) {
    return std::ranges::find(processes, child.id(), &ProcessFacts::id) != processes.end();
  };

  CHECK(holds_child(Procfs().all(std::nullopt)));
  CHECK(holds_child(Procfs().all(::geteuid())));
  CHECK_FALSE(holds_child(Procfs().all(::geteuid() + 1)));
}

TEST_CASE("a root that nobody knows has no tree") {
  FakeProcessTable table;
  table.add(1, 0).add(10, 1);
  CHECK(tree_of({99, 990}, table).empty());
}

TEST_CASE("every level below a root comes behind the one above it") {
  FakeProcessTable table;
  table.add(10, 1).add(11, 10).add(12, 11).add(13, 12).add(14, 10).add(15, 99);
  CHECK(pids(tree_of({10, 100}, table)) == std::vector{10, 11, 14, 12, 13});
}
