#include "safelaunch/clean/leftovers_survey.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "catch.h"
#include "unit/host/child.h"

using namespace safelaunch;

using namespace safelaunch::clean;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::Child;

namespace {

host::ProcessSample rank(int pid = 71) {
  host::ProcessSample sample;
  sample.facts.id = {pid, 1};
  sample.facts.state = 'S';
  sample.facts.comm = "python";
  host::ThreadSample thread;
  thread.tid = pid;
  thread.state = 'S';
  thread.comm = "python";
  thread.waits_in = "hrtimer_nanosleep";
  thread.wait = host::WaitKind::timed;
  sample.threads = {thread};
  return sample;
}

/// A rank that sleeps, at two moments.
struct Scene {
  host::TreeSample before{TimePoint{}, {rank()}};
  host::TreeSample after{TimePoint{} + 2s, {rank()}};
  std::vector<host::Socket> connections;
  bool has_gpu = false;

  [[nodiscard]] Work work() const { return work_between(before, after, connections, has_gpu); }
};

}  // namespace

TEST_CASE("a rank that only sleeps does nothing") {
  CHECK(Scene().work().none);
  CHECK(Scene().work().what == "sleeping");
}

TEST_CASE("a rank that moves at all works") {
  Scene scene;
  std::string seen;
  SECTION("a tick of a CPU") {
    scene.after.processes.front().facts.cpu = 10ms;
    seen = "uses some CPU";
  }
  SECTION("a line in a file") {
    scene.after.processes.front().io_bytes = 1;
    seen = "reads or writes";
  }
  SECTION("a child") {
    scene.before.processes.push_back(rank(72));
    scene.after.processes.push_back(rank(72));
    seen = "it has children (pid 72)";
  }
  SECTION("a connection to another rank") {
    host::Socket socket;
    socket.remote_address = "10.0.0.2";
    socket.remote_port = 29500;
    scene.connections = {socket};
    seen = "it is connected to 10.0.0.2:29500";
  }
  SECTION("a GPU, whose work nobody sees from here") {
    scene.has_gpu = true;
    seen = "it has a GPU open";
  }
  SECTION("a person has stopped it") {
    scene.after.processes.front().facts.state = 'T';
    seen = "stopped";
  }
  SECTION("it cannot be seen") {
    scene.after.processes.front().threads.clear();
    seen = "may not be looked at";
  }
  const Work work = scene.work();
  CHECK_FALSE(work.none);
  CHECK_THAT(work.what, ContainsSubstring(seen));
}

TEST_CASE("a rank's ports are told, and so is the peer that waits at one of them") {
  const int door = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  REQUIRE(::bind(door, reinterpret_cast<sockaddr*>(&name), size) == 0);
  REQUIRE(::listen(door, 1) == 0);
  REQUIRE(::getsockname(door, reinterpret_cast<sockaddr*>(&name), &size) == 0);
  Child sleeper([] { ::pause(); });  // has the door open too
  ::close(door);
  Candidate rank;
  rank.process = host::facts_of(sleeper.id()).value();

  take_inventory({&rank});
  watch_for_work({&rank}, 1ms);
  CHECK(rank.holds == std::vector<std::string>{"port " + std::to_string(ntohs(name.sin_port))});
  REQUIRE(rank.work);
  CHECK(rank.work->none);

  const int peer = ::socket(AF_INET, SOCK_STREAM, 0);
  REQUIRE(::connect(peer, reinterpret_cast<sockaddr*>(&name), size) == 0);
  watch_for_work({&rank}, 1ms);
  CHECK_FALSE(rank.work->none);
  CHECK_THAT(rank.work->what, ContainsSubstring("it is connected to 127.0.0.1:"));
  ::close(peer);
}

TEST_CASE("the GPUs of a run are those that it is told, if they are told by number") {
  const std::vector<std::string> three{"2", "0", "1"};
  CHECK(gpus_named(three, std::nullopt) == std::vector{2, 0, 1});
  CHECK(gpus_named(three, 2) == std::vector{2, 0});
  CHECK(gpus_named({}, 2) == std::vector<int>{});
  const std::vector<std::string> named{"0", "GPU-8932f937"};
  CHECK_FALSE(gpus_named(named, std::nullopt));
}
