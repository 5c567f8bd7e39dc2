#include "safelaunch/ranks/stacks_door.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <future>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/local_socket.h"
#include "safelaunch/stacks/question.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;

namespace {

std::string run_id() {
  return fmt::format("test-{}", getpid());
}

}  // namespace

TEST_CASE("who asks at the door is answered, and one question serves all who ask meanwhile",
          "[stacks_door]") {
  boost::asio::io_context io;
  int questions = 0;
  std::unique_ptr<StacksDoor> door =
      StacksDoor::open(io, stacks::door_of(run_id()), [&] { ++questions; });
  REQUIRE(door != nullptr);
  const auto ask = [] { return stacks::ask_supervisor(run_id(), 1min); };
  auto first = std::async(std::launch::async, ask);
  while (questions == 0) io.run_one();
  CHECK(questions == 1);
  const stacks::SupervisorAnswer told{
      .ranks = {{Rank{1}, {71, 7}, "waits in group", "a.py:1 f", ""}}};
  door->answer(stacks::answer_text(told));
  while (first.wait_for(0s) != std::future_status::ready) io.poll_one();
  const auto heard = first.get();
  REQUIRE(heard.has_value());
  CHECK(*heard == told);
  auto second = std::async(std::launch::async, ask);
  while (questions == 1) io.run_one();
  door.reset();  // the attempt is over: nobody is kept waiting
  io.poll();
  CHECK_FALSE(second.get().has_value());
}

TEST_CASE("an answer that nobody takes is thrown away", "[stacks_door]") {
  boost::asio::io_context io;
  bool asked = false;
  const auto door = StacksDoor::open(io, stacks::door_of(run_id()), [&] { asked = true; });
  REQUIRE(door != nullptr);
  {
    const auto visitor = host::connect_locally(stacks::door_of(run_id()), SOCK_STREAM);
    REQUIRE(visitor.has_value());
    while (!asked) io.run_one();
  }
  door->answer(std::string(1 << 20, 'x'));  // more than a socket holds, and no SIGPIPE
  io.poll();
}

TEST_CASE("where a door cannot be opened there is none", "[stacks_door]") {
  boost::asio::io_context io;
  const auto door = StacksDoor::open(io, stacks::door_of(run_id()), [] {});
  REQUIRE(door != nullptr);
  CHECK(StacksDoor::open(io, stacks::door_of(run_id()), [] {}) == nullptr);
}
