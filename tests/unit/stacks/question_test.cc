#include "safelaunch/stacks/question.h"

#include <unistd.h>

#include <thread>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/local_socket.h"

using namespace safelaunch;
using namespace safelaunch::stacks;
using namespace std::chrono_literals;

namespace {

/// The door of a run that is this test's alone.
std::string test_run(const char* name) {
  return fmt::format("test-{}-{}", getpid(), name);
}

/// A safelaunch that says these bytes to the first who asks, and closes the door.
Result<SupervisorAnswer> answer_to(const char* name, const std::string& said) {
  const std::string run = test_run(name);
  const auto door = host::listen_locally(door_of(run), SOCK_STREAM);
  REQUIRE(door.has_value());
  std::thread safelaunch([&] {
    int asked = -1;
    while (asked < 0) asked = ::accept(door->get(), nullptr, nullptr);
    for (std::size_t at = 0; at < said.size();) {
      const auto size = ::send(asked, said.data() + at, said.size() - at, MSG_NOSIGNAL);
      if (size <= 0) break;
      at += static_cast<std::size_t>(size);
    }
    ::close(asked);
  });
  const auto answer = ask_supervisor(run, 1h);
  safelaunch.join();
  return answer;
}

}  // namespace

TEST_CASE("a supervisor's answer reads back as it was", "[question]") {
  const SupervisorAnswer answer{
      .ranks = {
          {Rank{0}, {71, 7}, "waits in group", "train.py:40 main", "thread MainThread\n", true, 31},
          {Rank{3}, {72, 8}, "has reached imported", "", ""}}};
  CHECK(read_answer(answer_text(answer)) == answer);
}

TEST_CASE("what is no answer is none", "[question]") {
  CHECK_FALSE(read_answer(""));
  CHECK_FALSE(read_answer("[1]"));
  CHECK_FALSE(read_answer("{\"ranks\": 3}"));
  CHECK(read_answer("{\"ranks\": [4, {\"rank\": \"x\", \"pid\": []}]}")->ranks.size() == 1);
}

TEST_CASE("a run without a door is told at once", "[question]") {
  CHECK_FALSE(ask_supervisor(fmt::format("no-such-run-{}", getpid()), 1h).has_value());
}

TEST_CASE("fields of a known rank that are missing read as empty, and a torn answer is none",
          "[question]") {
  const auto answer = read_answer(R"({"ranks": [{"rank": 2, "start_ticks": -1, "where": 7}]})");
  REQUIRE(answer);
  CHECK(answer->ranks == std::vector<KnownRank>{{Rank{2}, {0, 0}, "", "", ""}});
  const std::string whole = answer_text({{{Rank{0}, {71, 7}, "waits", "a.py:1 f", "f\n"}}});
  for (std::size_t size = 0; size < whole.size(); ++size)
    if (read_answer(whole.substr(0, size))) FAIL("read " << whole.substr(0, size));
}

TEST_CASE("bytes that are no text do not keep an answer from being read", "[question]") {
  SupervisorAnswer answer{{{Rank{0}, {71, 7}, "waits", "\xff.py:1 f", "\x80\n"}}};
  const auto read = read_answer(answer_text(answer));
  REQUIRE(read);
  CHECK(read->ranks.front().where == "\uFFFD.py:1 f");
}

TEST_CASE("the answer of a safelaunch is read to the end of the connection", "[question]") {
  SupervisorAnswer answer{{{Rank{0}, {71, 7}, "waits", "a.py:1 f", "f\n"}}};
  answer.ranks.front().frames = std::string(1U << 20, 'x');  // more than one read brings
  const auto read = answer_to("whole", answer_text(answer));
  REQUIRE(read.has_value());
  CHECK(*read == answer);
}

TEST_CASE("a safelaunch that says nothing sensible does not answer", "[question]") {
  for (const char* said : {"", "nonsense", "{\"ranks\": [", "[]"}) {
    const auto read = answer_to("nonsense", said);
    REQUIRE(read.has_error());
    CHECK(read.error().message == "the safelaunch that runs it does not answer");
  }
}

TEST_CASE("a safelaunch that keeps silent is given up when the time is over", "[question]") {
  const std::string run = test_run("silent");
  const auto door = host::listen_locally(door_of(run), SOCK_STREAM);
  REQUIRE(door.has_value());
  const auto read = ask_supervisor(run, 0ms);
  REQUIRE(read.has_error());
  CHECK(read.error().message == "the safelaunch that runs it does not answer");
}
