#include "launcher/agree/errand.h"

#include <boost/asio/io_context.hpp>
#include <latch>
#include <string>
#include <thread>

#include "catch.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;

TEST_CASE("the result of an errand comes to the event loop's thread", "[errand]") {
  boost::asio::io_context io;
  Errand errand(io);
  std::optional<std::thread::id> worked;
  std::thread::id told;
  errand.run([] { return std::this_thread::get_id(); },
             [&](const std::optional<std::thread::id>& by) {
               worked = by;
               told = std::this_thread::get_id();
             });
  io.run_for(60s);
  REQUIRE(worked);
  CHECK(*worked != std::this_thread::get_id());
  CHECK(told == std::this_thread::get_id());
}

TEST_CASE("while an errand is stuck no other one is begun, and nobody waits for it", "[errand]") {
  boost::asio::io_context io;
  Errand errand(io);
  const auto stuck = std::make_shared<std::latch>(1);
  std::vector<std::string> told;
  const auto tell = [&](const std::optional<std::string>& result) {
    told.push_back(result.value_or("busy"));
  };
  errand.run([stuck] { return stuck->wait(), std::string("late"); }, tell);
  errand.run([] { return std::string("second"); }, tell);
  io.run_for(60s);
  CHECK(told == std::vector<std::string>{"busy"});
  stuck->count_down();
  while (told != std::vector<std::string>{"third"}) {  // the first one ends in its time
    told.clear();
    io.restart();
    errand.run([] { return std::string("third"); }, tell);
    io.run_for(60s);
    REQUIRE(told.size() == 1);
  }
}

TEST_CASE("nothing is told after an errand was stopped", "[errand]") {
  boost::asio::io_context io;
  Errand errand(io);
  bool told = false;
  errand.run([] { return 1; }, [&](const std::optional<int>&) { told = true; });
  errand.stop();
  io.run_for(60s);
  CHECK_FALSE(told);
}

}  // namespace
}  // namespace safelaunch::agree
