#include "safelaunch/ranks/straggler.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using watch::Arrivals;

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

constexpr std::chrono::microseconds kStep = 300ms;

// A rank that comes so late to each of these collectives, one a step, from this number on.
Arrivals comes(std::chrono::microseconds late, int count = 100, int first = 1,
               const std::string& group = "0") {
  Arrivals arrivals;
  for (int i = first; i < first + count; ++i) arrivals.came.push_back({group, i, i * kStep + late});
  return arrivals;
}

}  // namespace

TEST_CASE("the rank that comes last to each collective is a straggler", "[straggler]") {
  Arrivals slow = comes(180ms);
  slow.places = {{"dataset.py:88 load", 8}, {"train.py:4 step", 1}, {"", 1}};
  const auto found =
      find_straggler({{Rank{0}, comes(0ms)}, {Rank{1}, comes(20ms)}, {Rank{5}, slow}});
  REQUIRE(found);
  CHECK(found->rank == 5);
  CHECK(found->last == 100);
  CHECK(found->of == 100);
  CHECK(found->behind_us == 160'000);
  CHECK(found->waited == 53);  // 100 times 160 ms of 99 steps and 180 ms
  CHECK(found->where == "dataset.py:88 load");
  CHECK(found->seen == 8);
  CHECK(found->looks == 10);
}

TEST_CASE("only collectives that all ranks of a group have told are compared", "[straggler]") {
  // The second recorder was read some collectives later.
  const auto found =
      find_straggler({{Rank{0}, comes(0ms, 100, 1)}, {Rank{1}, comes(100ms, 100, 31)}});
  REQUIRE(found);
  CHECK(found->of == 70);
  CHECK_FALSE(find_straggler({{Rank{0}, comes(0ms, 20, 1)}, {Rank{1}, comes(100ms, 20, 6)}}));
  // Groups of other ranks, with the same numbers.
  CHECK_FALSE(
      find_straggler({{Rank{0}, comes(0ms, 100, 1, "1")}, {Rank{1}, comes(99ms, 100, 1, "2")}}));
}

TEST_CASE("nobody is a straggler where the last one is now this rank and now that one",
          "[straggler]") {
  Arrivals one = comes(0ms);
  Arrivals other = comes(0ms);
  for (std::size_t i = 0; i < one.came.size(); ++i) (i % 3 == 0 ? one : other).came[i].at += 100ms;
  CHECK_FALSE(find_straggler({{Rank{0}, one}, {Rank{1}, other}}));
}

TEST_CASE("a rank for which nobody waits long is no straggler", "[straggler]") {
  CHECK_FALSE(find_straggler({{Rank{0}, comes(0ms)}, {Rank{1}, comes(10ms)}}));  // of 300 ms
  CHECK(find_straggler({{Rank{0}, comes(0ms)}, {Rank{1}, comes(16ms)}}));
  // A step of 3 ms in which the others wait for 0.9 ms.
  Arrivals quick;
  Arrivals slower;
  for (int i = 0; i < 100; ++i) {
    quick.came.push_back({"0", i, i * 3ms});
    slower.came.push_back({"0", i, i * 3ms + 900us});
  }
  CHECK_FALSE(find_straggler({{Rank{0}, quick}, {Rank{1}, slower}}));
}

TEST_CASE("few collectives, one rank and none at all name nobody", "[straggler]") {
  CHECK_FALSE(find_straggler({}));
  CHECK_FALSE(find_straggler({{Rank{0}, comes(0ms)}}));
  CHECK_FALSE(find_straggler({{Rank{0}, comes(0ms, 15)}, {Rank{1}, comes(100ms, 15)}}));
  CHECK(find_straggler({{Rank{0}, comes(0ms, 16)}, {Rank{1}, comes(100ms, 16)}}));
}
