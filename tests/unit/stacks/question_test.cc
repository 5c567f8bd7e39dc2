#include "safelaunch/stacks/question.h"

#include <unistd.h>

#include "catch.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;
using namespace safelaunch::stacks;
using namespace std::chrono_literals;

TEST_CASE("a supervisor's answer reads back as it was", "[question]") {
  const SupervisorAnswer answer{
      .training = true,
      .ranks = {{Rank{0}, {71, 7}, "waits in group", "train.py:40 main", "thread MainThread\n"},
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
