#include "safelaunch/output/recording.h"

#include "catch.h"
#include "random_splits.h"

using namespace safelaunch;

using namespace safelaunch::output;

TEST_CASE("a short output is kept whole", "[tail]") {
  Tail tail;
  CHECK(tail.text().empty());
  tail.append("Traceback\n");
  tail.append("ValueError\n");
  CHECK(tail.text() == "Traceback\nValueError\n");
}

TEST_CASE("of a long output the last bytes are kept, however it was written", "[tail]") {
  std::string all;
  for (int i = 0; i < 300; ++i) all += std::to_string(i) + ",";
  for (unsigned seed = 0; seed < 100; ++seed) {
    Tail tail(64);
    for (const auto piece : testing::split_randomly(all, seed, 1 + seed * 3)) tail.append(piece);
    REQUIRE(tail.text() == all.substr(all.size() - 64));
  }
}

TEST_CASE("an output of exactly the capacity is kept whole, and one byte more loses the first",
          "[tail]") {
  Tail tail(8);
  tail.append("12345678");
  CHECK(tail.text() == "12345678");
  tail.append("");
  CHECK(tail.text() == "12345678");
  tail.append("9");
  CHECK(tail.text() == "23456789");
  tail.append("abcdefghijk");
  CHECK(tail.text() == "defghijk");
}

TEST_CASE("a tail without room keeps nothing", "[tail]") {
  Tail tail(0);
  tail.append("x");
  CHECK(tail.text().empty());
}
