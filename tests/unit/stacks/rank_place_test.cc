#include "launcher/stacks/rank_place.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::stacks;

namespace {

RankPlace place_with_pid(int pid, std::optional<int> rank) {
  RankPlace place;
  if (rank) place.rank = Rank{*rank};
  place.process = {pid, 7};
  return place;
}

host::ThreadSample thread_in(int tid, std::string comm, std::string waits_in) {
  host::ThreadSample thread;
  thread.tid = tid;
  thread.state = 'S';
  thread.comm = std::move(comm);
  thread.waits_in = std::move(waits_in);
  thread.wait = host::WaitKind::timed;
  return thread;
}

/// One process with three threads, of which one keeps house.
host::TreeSample sleeping_tree(TimePoint at) {
  host::ProcessSample process;
  process.facts.id = {71, 7};
  process.facts.state = 'S';
  process.facts.comm = "python";
  process.threads = {thread_in(71, "python", "hrtimer_nanosleep"),
                     thread_in(72, "cuda-EvtHandlr", "poll_schedule_timeout"),
                     thread_in(73, "loader", "")};
  return {at, {process}, false};
}

const TimePoint kThen{std::chrono::hours(1)};
const TimePoint kLater = kThen + std::chrono::milliseconds(500);

host::PortHolder holder(int pid, host::SocketState state) {
  return {.port = 29500,
          .state = state,
          .pid = pid,
          .uid = 1000,
          .user = "bob",
          .command = "python server.py"};
}

const std::vector<RankPlace> kTwoRanks{place_with_pid(100, 0), place_with_pid(101, 1)};

}  // namespace

TEST_CASE("a rank is placed as its safelaunch knows it, and its hook has told the stack",
          "[rank_place]") {
  const RankPlace place =
      place_of({Rank{3}, {71, 7}, "waits in group", "train.py:40 main", "thread MainThread\n"});
  CHECK(place.rank == Rank{3});
  CHECK(place.process == ProcessId{71, 7});
  CHECK(place.standing == "waits in group");
  CHECK(place.where == "train.py:40 main");
  CHECK(place.frames == "thread MainThread\n");
  CHECK(place.teller == Teller::hook);
}

TEST_CASE("a rank whose hook has not answered leaves its stack to another teller", "[rank_place]") {
  CHECK(place_of({Rank{3}, {71, 7}, "has reached imported", "", ""}).teller == Teller::nobody);
}

TEST_CASE("a process that is gone in one of two samples has ended, and its stack stays",
          "[rank_place]") {
  const host::TreeSample gone{kLater, {}, false};
  for (const auto& [before, after] :
       {std::pair(sleeping_tree(kThen), gone), std::pair(gone, sleeping_tree(kLater)),
        std::pair(gone, gone)}) {
    RankPlace place = place_with_pid(71, 0);
    place.frames = "thread MainThread\n";
    tell_doing(place, before, after);
    CHECK(place.doing == "has ended");
    CHECK(place.frames == "thread MainThread\n");
  }
}

TEST_CASE("without a stack the kernel's threads stand in its place, but those that keep house",
          "[rank_place]") {
  RankPlace place = place_with_pid(71, 0);
  tell_doing(place, sleeping_tree(kThen), sleeping_tree(kLater));
  CHECK(place.doing == "idling: sleeping");
  CHECK(place.frames ==
        "thread 71 python: state S in hrtimer_nanosleep\nthread 73 loader: state S\n");
}

TEST_CASE("a main thread is told though it bears the name of a housekeeper", "[rank_place]") {
  host::TreeSample tree = sleeping_tree(kLater);
  tree.processes.front().threads.front().comm = "cuda-EvtHandlr";
  RankPlace place = place_with_pid(71, 0);
  tell_doing(place, sleeping_tree(kThen), tree);
  CHECK(place.frames.starts_with("thread 71 cuda-EvtHandlr: state S"));
}

TEST_CASE("a stack that Python has told is not replaced by the kernel's threads", "[rank_place]") {
  RankPlace place = place_with_pid(71, 0);
  place.frames = "thread MainThread\n  train.py:40 main\n";
  tell_doing(place, sleeping_tree(kThen), sleeping_tree(kLater));
  CHECK(place.frames == "thread MainThread\n  train.py:40 main\n");
  CHECK(place.doing == "idling: sleeping");
}

TEST_CASE("the place of a meeting is taken apart at its last colon", "[rank_place]") {
  struct Case {
    const char* master;
    const char* host;
    int port;
  };
  for (const Case& one : {Case{"127.0.0.1:29500", "127.0.0.1", 29500}, Case{"node7:1", "node7", 1},
                          Case{"::1:29500", "::1", 29500}, Case{"fe80::2:65535", "fe80::2", 65535},
                          Case{"node7:65536", "node7", 0}, Case{"node7:-1", "node7", 0},
                          Case{"node7:29500x", "node7", 0}, Case{"node7:", "node7", 0},
                          Case{":29500", "", 29500}, Case{"node7", "node7", 0}, Case{"", "", 0}}) {
    INFO(one.master);
    const Meeting meeting = meeting_at(one.master);
    CHECK(meeting.host == one.host);
    CHECK(meeting.port == one.port);
  }
}

TEST_CASE("a store is held by whoever listens, and a rank is told by its number", "[rank_place]") {
  using host::SocketState;
  const auto holder_told = [](std::vector<host::PortHolder> holders) {
    return store_of("h:29500", {true, std::move(holders), {}}, kTwoRanks).holder;
  };
  CHECK(holder_told({holder(101, SocketState::listening)}) == "rank 1 (pid 101)");
  CHECK(holder_told({holder(99, SocketState::listening)}) == "pid 99 (python server.py)");
  CHECK(holder_told({holder(100, SocketState::connected), holder(99, SocketState::listening)}) ==
        "pid 99 (python server.py)");
  CHECK(holder_told({holder(100, SocketState::connected)}).empty());
  CHECK(holder_told({}).empty());
}

TEST_CASE("a store of another user is told by the user, since the process cannot be seen",
          "[rank_place]") {
  CHECK(store_of("h:29500", {true, {holder(0, host::SocketState::listening)}, {}}, kTwoRanks)
            .holder == "a process of user bob that we may not see");
}

TEST_CASE("a holder that is of the job but no rank is told by its command", "[rank_place]") {
  CHECK(store_of("h:1", {true, {holder(102, host::SocketState::listening)}, {}},
                 {place_with_pid(102, std::nullopt)})
            .holder == "pid 102 (python server.py)");
}

TEST_CASE("a store at an address that is not here is another host's, whoever listens here",
          "[rank_place]") {
  const StorePlace store =
      store_of("far:29500", {false, {holder(101, host::SocketState::listening)}, {100}}, kTwoRanks);
  CHECK(store.address == "far:29500");
  CHECK(store.holder == "another host");
  CHECK(store.connected == std::vector{Rank{0}});
}

TEST_CASE("each rank is at the store or apart from it, and what is no rank is neither",
          "[rank_place]") {
  std::vector<RankPlace> ranks = kTwoRanks;
  ranks.push_back(place_with_pid(102, std::nullopt));
  ranks.push_back(place_with_pid(103, 3));
  const StorePlace store = store_of("h:1", {true, {}, {101, 102, 9999}}, ranks);
  CHECK(store.connected == std::vector{Rank{1}});
  CHECK(store.apart == std::vector{Rank{0}, Rank{3}});
}
