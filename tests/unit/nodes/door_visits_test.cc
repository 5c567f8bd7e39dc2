#include "safelaunch/nodes/door_visits.h"

#include <boost/asio/io_context.hpp>

#include "catch.h"
#include "safelaunch/nodes/door_keeper.h"

using namespace safelaunch;
using namespace safelaunch::nodes;

namespace {

std::vector<Way> visit(boost::asio::io_context& io, const AllDoors& doors) {
  std::optional<std::vector<Way>> told;
  DoorVisits visits(io, doors, {1}, [&](std::vector<Way> ways) { told = std::move(ways); });
  while (!told) io.run_one();
  return *told;
}

}  // namespace

TEST_CASE("a visit to an open door tells the round trip and the clock", "[mesh]") {
  boost::asio::io_context io;
  DoorKeeper keeper(io, "abc");
  const auto doors = keeper.open({{"lo", "127.0.0.1", 0}, {"none", "203.0.113.9", 0}});
  REQUIRE(doors.size() == 1);
  CHECK(doors.front().port > 0);
  const auto ways = visit(io, {{1, {"abc", doors}}});
  REQUIRE(ways.size() == 1);
  CHECK(ways.front().end == Way::End::reached);
  CHECK(ways.front().interface == "lo");
  CHECK(ways.front().round_trip.count() > 0);
  REQUIRE(ways.front().ahead);
  // It is the same clock.
  CHECK(std::chrono::abs(*ways.front().ahead) <= ways.front().error + std::chrono::milliseconds(1));
}

TEST_CASE("a door of another node is told apart by its name", "[mesh]") {
  boost::asio::io_context io;
  DoorKeeper keeper(io, "abc");
  const auto doors = keeper.open({{"lo", "127.0.0.1", 0}});
  const auto ways = visit(io, {{1, {"another", doors}}});
  CHECK(ways.front().end == Way::End::other_host);
}

TEST_CASE("a port that the job needs is free as soon as its door is closed", "[mesh]") {
  boost::asio::io_context io;
  DoorKeeper keeper(io, "abc");
  std::vector<Door> doors;
  {
    DoorKeeper other(io, "abc");
    doors = other.open({{"lo", "127.0.0.1", 0}});
  }
  io.poll();
  io.restart();
  const auto opened = keeper.open(doors);
  REQUIRE(opened == doors);
  const auto ways = visit(io, {{1, {"abc", opened}}});
  CHECK(ways.front().end == Way::End::reached);
  keeper.close("lo");
  // As a program does that does not ask for SO_REUSEADDR.
  using boost::asio::ip::tcp;
  tcp::acceptor rank(io);
  rank.open(tcp::v4());
  boost::system::error_code error;
  rank.bind({tcp::v4(), static_cast<std::uint16_t>(doors.front().port)}, error);
  CHECK(error.message() == boost::system::error_code().message());
}

TEST_CASE("a closed door refuses", "[mesh]") {
  boost::asio::io_context io;
  std::vector<Door> doors;
  {
    DoorKeeper keeper(io, "abc");
    doors = keeper.open({{"lo", "127.0.0.1", 0}});
  }
  const auto ways = visit(io, {{1, {"abc", doors}}});
  CHECK(ways.front().end == Way::End::refused);
}

TEST_CASE("a visit with nobody to visit ends, and one that is broken off tells nothing", "[mesh]") {
  boost::asio::io_context io;
  CHECK(visit(io, {}).empty());
  DoorKeeper keeper(io, "abc");
  bool told = false;
  {
    const AllDoors all{{1, {"abc", keeper.open({{"lo", "127.0.0.1", 0}})}}};
    const DoorVisits visits(io, all, {1}, [&](const std::vector<Way>&) { told = true; });
  }
  io.restart();
  io.poll();
  CHECK_FALSE(told);
}

TEST_CASE("a greeting that is not ours is none", "[mesh]") {
  const Greeting greeting{"abc", std::chrono::microseconds(1'700'000'000'000'000)};
  const auto read = greeting_from(to_text(greeting));
  REQUIRE(read);
  CHECK(read->name == "abc");
  CHECK(read->time == greeting.time);
  CHECK(to_text(greeting).size() < kLongestGreeting);
  for (const char* other : {"", "SSH-2.0-OpenSSH\n", "safelaunch abc\n", "safelaunch abc x\n",
                            "safelaunch abc 12", "safelaunch abc -5\n"})
    CHECK_FALSE(greeting_from(other));
}
