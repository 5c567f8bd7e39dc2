#include "safelaunch/nodes/door_visits.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>

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

/// A host that speaks as it likes to whoever comes, once for each text.
class Stranger {
 public:
  Stranger(boost::asio::io_context& io, std::vector<std::string> texts)
      : acceptor_(io, {boost::asio::ip::tcp::v4(), 0}), texts_(std::move(texts)) {
    accept();
  }
  [[nodiscard]] std::vector<Door> doors() const {
    return {{"lo", "127.0.0.1", acceptor_.local_endpoint().port()}};
  }

 private:
  void accept() {
    if (visits_ == texts_.size()) return;
    acceptor_.async_accept([this](boost::system::error_code error, auto visitor) {
      if (error) return;
      boost::asio::write(visitor, boost::asio::buffer(texts_[visits_++]), error);
      accept();
    });
  }

  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::string> texts_;
  std::size_t visits_ = 0;
};

Way only_way(boost::asio::io_context& io, const std::vector<Door>& doors) {
  const auto ways = visit(io, {{1, {"abc", doors}}});
  REQUIRE(ways.size() == 1);
  return ways.front();
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
  const AllDoors all{{1, {"abc", opened}}};
  // Ranks of a node whose agent has not come are refused there, as where nobody is.
  CHECK(visit(io, all).front().end == Way::End::refused);
  keeper.let_in("lo");
  CHECK(visit(io, all).front().end == Way::End::reached);
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

TEST_CASE("whoever says nothing of ours at a door is not known", "[mesh]") {
  boost::asio::io_context io;
  for (const std::string& text : {std::string("SSH-2.0-OpenSSH\n"), std::string(),
                                  std::string(10'000, 'x'), std::string("safelaunch abc 5")}) {
    const Stranger stranger(io, {text, text});
    const Way way = only_way(io, stranger.doors());
    CHECK(way.end == Way::End::unknown);
    CHECK_FALSE(way.ahead);
  }
}

TEST_CASE("a clock that is ahead is told with the error of the measurement", "[mesh]") {
  boost::asio::io_context io;
  const std::chrono::microseconds late = wall_time() + std::chrono::hours(2);
  const std::string text = to_text(Greeting{"abc", late});
  const Stranger stranger(io, {text, text});
  const Way way = only_way(io, stranger.doors());
  CHECK(way.end == Way::End::reached);
  REQUIRE(way.ahead);
  CHECK(*way.ahead > std::chrono::hours(1));
  CHECK(*way.ahead < std::chrono::hours(2));
}

TEST_CASE("a door that answers once and then no more was reached", "[mesh]") {
  boost::asio::io_context io;
  const Stranger stranger(io, {to_text(Greeting{"abc", wall_time()}), "x"});
  CHECK(only_way(io, stranger.doors()).end == Way::End::reached);
}

TEST_CASE("doors that are no address, and seats that nobody has, are not visited", "[mesh]") {
  boost::asio::io_context io;
  CHECK(visit(io, {{1, {"abc", {{"eth0", "no address", 80}, {"eth1", "", 80}}}}}).empty());
  CHECK(visit(io, {{2, {"abc", {{"lo", "127.0.0.1", 80}}}}}).empty());
  DoorKeeper keeper(io, "abc");
  CHECK(keeper.open({{"eth0", "no address", 0}}).empty());
}

TEST_CASE("every door of every node is visited", "[mesh]") {
  boost::asio::io_context io;
  DoorKeeper keeper(io, "abc");
  const auto doors = keeper.open({{"lo", "127.0.0.1", 0}, {"lo6", "127.0.0.2", 0}});
  REQUIRE(doors.size() == 2);
  std::optional<std::vector<Way>> told;
  const AllDoors all{{1, {"abc", doors}}, {2, {"other", doors}}};
  const DoorVisits visits(io, all, {1, 2}, [&](std::vector<Way> ways) { told = std::move(ways); });
  while (!told) io.run_one();
  std::vector<std::tuple<int, std::string, Way::End>> ends;
  for (const Way& way : *told) ends.emplace_back(way.seat, way.interface, way.end);
  CHECK(ends ==
        std::vector<std::tuple<int, std::string, Way::End>>{{1, "lo", Way::End::reached},
                                                            {1, "lo6", Way::End::reached},
                                                            {2, "lo", Way::End::other_host},
                                                            {2, "lo6", Way::End::other_host}});
}

TEST_CASE("a port that somebody else has gets no door", "[mesh]") {
  boost::asio::io_context io;
  DoorKeeper first(io, "abc");
  DoorKeeper second(io, "abc");
  const auto doors = first.open({{"lo", "127.0.0.1", 0}});
  REQUIRE(doors.size() == 1);
  CHECK(second.open(doors).empty());
}

TEST_CASE("closing one door leaves the others open", "[mesh]") {
  boost::asio::io_context io;
  DoorKeeper keeper(io, "abc");
  const auto doors = keeper.open({{"lo", "127.0.0.1", 0}, {"lo6", "127.0.0.2", 0}});
  keeper.close("lo");
  keeper.close("eth9");  // which it never had
  const auto ways = visit(io, {{1, {"abc", doors}}});
  REQUIRE(ways.size() == 2);
  CHECK(ways[0].end == Way::End::refused);
  CHECK(ways[1].end == Way::End::reached);
}

TEST_CASE("a greeting says who and when, and no more", "[mesh]") {
  CHECK(to_text(Greeting{"abc", std::chrono::microseconds(17)}) == "safelaunch abc 17\n");
  CHECK_FALSE(greeting_from("safelaunch abc 0\n"));
  CHECK_FALSE(greeting_from("safelaunch abc 99999999999999999999\n"));
  CHECK_FALSE(greeting_from("safelaunch \n"));
  CHECK_FALSE(greeting_from("Safelaunch abc 17\n"));
}
