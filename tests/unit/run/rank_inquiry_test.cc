#include "launcher/run/rank_inquiry.h"

#include <array>
#include <boost/asio/io_context.hpp>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::run;
using namespace std::chrono_literals;

TEST_CASE("where nobody can be asked the answer comes at once, and through the loop",
          "[rank_inquiry]") {
  boost::asio::io_context io;
  RankInquiry inquiry(io);
  const std::array ranks{AskedRank{Rank{0}, {71, 7}}};
  const std::array questions{watch::HookQuestion::stack};
  int calls = 0;
  inquiry.begin(nullptr, ranks, questions, {}, 1h, [&](const RankAnswers& answers) {
    ++calls;
    CHECK(answers.stacks.empty());
  });
  CHECK(calls == 0);
  io.run();  // ends long before the hour that an answer would have
  CHECK(calls == 1);
}
