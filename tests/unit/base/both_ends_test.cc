#include "safelaunch/base/both_ends.h"

#include "catch.h"

using namespace safelaunch;

TEST_CASE("a log that fits is kept whole", "[both_ends]") {
  BothEnds ends(8, 8);
  ends.add("first\nse");
  ends.add("cond\n");
  CHECK(ends.take() == "first\nsecond\n");
  CHECK(ends.left_out() == 0);
}

TEST_CASE("of a longer log whole lines of both ends are kept, and the rest is counted",
          "[both_ends]") {
  BothEnds ends(20, 40);
  std::string whole;
  for (int line = 100; line < 200; ++line) {
    const std::string text = "line " + std::to_string(line) + "\n";
    ends.add(text);
    whole += text;
  }
  const std::string kept = ends.take();
  CHECK(kept == "line 100\nline 101\nline 196\nline 197\nline 198\nline 199\n");
  CHECK(ends.left_out() == whole.size() - kept.size());
}

TEST_CASE("bytes that are passed over tear the line before and the line behind", "[both_ends]") {
  BothEnds ends(9, 24);
  ends.add("whole\nhal");
  CHECK(ends.has_head());
  ends.skip(1000);
  ends.add("f\nlast line of the log\n");
  CHECK(ends.take() == "whole\nlast line of the log\n");
  CHECK(ends.left_out() == 1005);
}

TEST_CASE("an endless log takes bounded memory", "[both_ends]") {
  BothEnds ends(1000, 1000);
  const std::string block(10'000, 'x');
  for (int i = 0; i < 1000; ++i) ends.add(block);
  CHECK(ends.take().size() <= 2000);
  CHECK(ends.left_out() >= 1000 * block.size() - 2000);
}
