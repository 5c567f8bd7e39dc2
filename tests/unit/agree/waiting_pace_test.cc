#include "launcher/agree/waiting_pace.h"

#include "catch.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;

/// The times of the lines in the first `lasts` of a waiting.
std::vector<Duration> lines_within(std::uint64_t seed, Duration lasts) {
  WaitingPace pace(seed);
  const TimePoint begin{1h};
  std::vector<Duration> lines;
  pace.begin(begin);
  while (*pace.next() <= begin + lasts) {
    const TimePoint now = *pace.next();
    REQUIRE(pace.is_time(now));
    lines.push_back(std::chrono::duration_cast<Duration>(now - begin));
  }
  return lines;
}

}  // namespace

TEST_CASE("a waiting is told after about 5 s, then ever more rarely, up to five minutes",
          "[waiting_pace]") {
  for (const std::uint64_t seed : {0U, 1U, 77U}) {
    const std::vector<Duration> lines = lines_within(seed, 1h);
    Duration pause = 5s;
    Duration before{};
    for (const Duration line : lines) {
      CHECK(line - before >= pause - pause / 10);
      CHECK(line - before <= pause + pause / 10);
      pause = std::min<Duration>(pause * 2, 5min);
      before = line;
    }
    CHECK(lines.size() >= 14);
  }
}

TEST_CASE("agents with other seeds do not speak at once", "[waiting_pace]") {
  CHECK(lines_within(1, 10min) != lines_within(2, 10min));
  CHECK(lines_within(1, 10min) == lines_within(1, 10min));
}

TEST_CASE("a waiting that goes on is not begun anew, and one that has ended is", "[waiting_pace]") {
  WaitingPace pace(1);
  const TimePoint begin{1h};
  CHECK_FALSE(pace.is_time(begin));
  CHECK_FALSE(pace.next());
  pace.begin(begin);
  const auto first = pace.next();
  pace.begin(begin + 3s);
  CHECK(pace.next() == first);
  CHECK_FALSE(pace.is_time(*first - 1ms));
  CHECK(pace.is_time(*first));
  CHECK_FALSE(pace.is_time(*first));
  pace.end();
  CHECK_FALSE(pace.is_time(begin + 1h));
  pace.begin(begin + 1h);
  CHECK(*pace.next() <= begin + 1h + 5'500ms);
}

}  // namespace safelaunch::agree
