#include "safelaunch/watch/observer.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::watch;

namespace {

SeenProcess process(int pid, int parent, std::optional<int> rank = {}) {
  SeenProcess one{
      .id = {pid, static_cast<std::uint64_t>(pid)}, .parent = parent, .rank = {}, .world_size = {}};
  if (rank) {
    one.rank = Rank{*rank};
    one.world_size = 2;
  }
  return one;
}

template <class T>
std::vector<T> of_kind(const std::vector<Event>& events) {
  std::vector<T> result;
  for (const Event& event : events)
    if (const auto* one = std::get_if<T>(&event)) result.push_back(*one);
  return result;
}

}  // namespace

TEST_CASE("the topmost process with a RANK is the rank", "[observer]") {
  Observer observer;
  const auto started = of_kind<RankStarted>(observer.on(
      {process(10, 1), process(20, 10, 0), process(30, 20, 0), process(21, 10, 1)}, {}));
  REQUIRE(started.size() == 2);
  CHECK(started[0].process.pid == 20);
  CHECK(started[0].world_size == 2);
  CHECK(started[0].source == Source::proc);
  CHECK(started[1].process.pid == 21);
}

TEST_CASE("what is below a rank's process shows for it", "[observer]") {
  Observer observer;
  SeenProcess python = process(30, 25, 0);
  python.has_torch = true;
  const auto reached =
      of_kind<StageReached>(observer.on({process(20, 10, 0), process(25, 20), python}, {}));
  REQUIRE(reached.size() == 1);
  CHECK(reached.front().process.pid == 20);
  CHECK(reached.front().stage == Stage::imported);
}

TEST_CASE("the threads and sockets of gloo tell the stages", "[observer]") {
  Observer observer;
  SeenProcess rank = process(20, 10, 0);
  rank.has_torch = rank.meets_store = rank.makes_group = true;
  const auto events = observer.on({rank}, {});
  CHECK(of_kind<StageReached>(events).back().stage == Stage::rendezvous);
  REQUIRE(of_kind<StageEntered>(events).size() == 1);
  CHECK(of_kind<StageEntered>(events).front().stage == Stage::group);

  rank.has_group = true;
  const auto reached = of_kind<StageReached>(observer.on({rank}, {}));
  REQUIRE(reached.size() == 1);
  CHECK(reached.front().stage == Stage::group);
}

TEST_CASE("the rank that hosts the store waits there, although it is connected to itself",
          "[observer]") {
  Observer observer;
  SeenProcess host = process(20, 10, 0);
  host.has_torch = host.hosts_store = host.meets_store = true;
  const auto events = observer.on({host}, {});
  CHECK(of_kind<StageReached>(events).back().stage == Stage::imported);
  const auto entered = of_kind<StageEntered>(events);
  REQUIRE(entered.size() == 2);
  CHECK(entered.front().stage == Stage::rendezvous);
  CHECK(entered.back().stage == Stage::group);

  host.makes_group = true;
  const auto reached = of_kind<StageReached>(observer.on({host}, {}));
  REQUIRE(reached.size() == 1);
  CHECK(reached.front().stage == Stage::rendezvous);
}

TEST_CASE("nothing is told twice, and a restarted rank is told anew", "[observer]") {
  Observer observer;
  CHECK_FALSE(observer.on({process(20, 10, 0)}, {}).empty());
  CHECK(observer.on({process(20, 10, 0)}, {}).empty());
  CHECK_FALSE(observer.on({process(40, 10, 0)}, {}).empty());
}

TEST_CASE("a rank whose hook speaks is left to it", "[observer]") {
  Observer observer;
  CHECK(observer.on({process(20, 10, 0)}, {{{20, 20}, Rank{0}}}).empty());
}

TEST_CASE("children of mp.spawn are ranks in the order of their start", "[observer]") {
  Observer observer;
  Snapshot snapshot{process(10, 1), process(23, 10), process(21, 10), process(22, 10)};
  for (std::size_t i = 1; i < snapshot.size(); ++i) snapshot[i].spawned_child = true;

  SECTION("where no hook speaks") {
    const auto started = of_kind<RankStarted>(observer.on(snapshot, {}));
    REQUIRE(started.size() == 3);
    CHECK(started[0].process.pid == 21);
    CHECK(started[2].rank == Rank{2});
    CHECK(started[2].process.pid == 23);
  }
  SECTION("and the one whose hook does not know its rank is found among those that do") {
    const auto started =
        of_kind<RankStarted>(observer.on(snapshot, {{{21, 21}, Rank{0}}, {{23, 23}, Rank{2}}}));
    REQUIRE(started.size() == 1);
    CHECK(started[0].rank == Rank{1});
    CHECK(started[0].process.pid == 22);
  }
  SECTION("unless a hook says otherwise") {
    CHECK(observer.on(snapshot, {{{21, 21}, Rank{2}}}).empty());
  }
}

TEST_CASE("a wrong guess is taken back, but for the process that has said its rank", "[observer]") {
  Observer observer;
  Snapshot snapshot{process(10, 1), process(21, 10), process(22, 10)};
  snapshot[1].spawned_child = snapshot[2].spawned_child = true;
  REQUIRE(of_kind<RankStarted>(observer.on(snapshot, {})).size() == 2);
  CHECK(observer.on(snapshot, {{{21, 21}, Rank{1}}}).empty());
  CHECK(observer.take_withdrawn(0, {}) == std::vector<ProcessId>{{22, 22}});
}

TEST_CASE("a spawned sibling beyond the world is no rank, unless its hook says so", "[observer]") {
  Observer observer;
  // SGLang: two schedulers, and the detokenizer.
  Snapshot snapshot{process(10, 1), process(21, 10), process(22, 10), process(23, 10)};
  for (std::size_t i = 1; i < snapshot.size(); ++i) snapshot[i].spawned_child = true;
  REQUIRE(of_kind<RankStarted>(observer.on(snapshot, {})).size() == 3);
  CHECK(observer.take_withdrawn(3, {}).empty());
  CHECK(observer.take_withdrawn(2, {{{23, 23}, Rank{2}}}).empty());
  CHECK(observer.take_withdrawn(2, {}) == std::vector<ProcessId>{{23, 23}});
  CHECK(observer.on(snapshot, {}, 2).empty());
  CHECK(observer.take_withdrawn(2, {}).empty());
}

TEST_CASE("where a hook elsewhere knows its rank, spawned siblings are no ranks", "[observer]") {
  Observer observer;
  // vLLM: two engines that a server has spawned, and the workers of the second one.
  Snapshot snapshot{process(10, 1), process(21, 10), process(22, 10), process(31, 22),
                    process(32, 22)};
  for (std::size_t i = 1; i < snapshot.size(); ++i) snapshot[i].spawned_child = true;
  CHECK(of_kind<RankStarted>(observer.on(snapshot, {})).size() == 2);
  CHECK(observer.take_withdrawn(0, {}).empty());
  const auto started = of_kind<RankStarted>(observer.on(snapshot, {{{31, 31}, Rank{0}}}));
  REQUIRE(started.size() == 1);
  CHECK(started[0].process.pid == 32);
  CHECK(started[0].rank == Rank{1});
  CHECK(observer.take_withdrawn(0, {}) == std::vector<ProcessId>{{21, 21}, {22, 22}});
  CHECK(observer.take_withdrawn(0, {}).empty());
}

TEST_CASE("the children of a rank are not guessed to be ranks", "[observer]") {
  Observer observer;
  Snapshot snapshot{process(20, 10, 0), process(31, 20), process(32, 20)};
  snapshot[1].spawned_child = snapshot[2].spawned_child = true;
  CHECK(of_kind<RankStarted>(observer.on(snapshot, {})).size() == 1);
}

TEST_CASE("a single spawned child is not a rank", "[observer]") {
  Observer observer;
  Snapshot snapshot{process(20, 10), process(31, 20)};
  snapshot[1].spawned_child = true;
  CHECK(observer.on(snapshot, {}).empty());
}
