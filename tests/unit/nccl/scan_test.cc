#include "launcher/nccl/scan.h"

#include "catch.h"

namespace safelaunch::nccl {
namespace {

TEST_CASE("the word behind a name is found where the name is a word of its own", "[nccl]") {
  CHECK(word_after("comm 0x1 rank 3 nranks 4", "rank") == "3");
  CHECK(word_after("nranks 4 rank 3", "rank") == "3");
  CHECK(word_after("rank 3", "rank") == "3");
  CHECK(word_after("rank rank 3", "rank") == "rank");
  CHECK(word_after("rank  3", "rank") == "");
  CHECK(word_after("rank ", "rank") == "");
  for (const char* text : {"", "rank", "nranks 4", "ranks 4", "rank:3", "a rank"}) {
    INFO(text);
    CHECK_FALSE(word_after(text, "rank"));
  }
}

TEST_CASE("a number behind a name is a whole number that an int holds", "[nccl]") {
  CHECK(number_of("rank -3 x", "rank") == -3);
  CHECK(number_of("rank 2147483647", "rank") == 2'147'483'647);
  for (const char* text :
       {"rank 2147483648", "rank 3x", "rank x3", "rank 3.0", "rank +3", "rank "}) {
    INFO(text);
    CHECK_FALSE(number_of(text, "rank"));
  }
}

TEST_CASE("a hexadecimal number has its 0x, and at most 64 bits", "[nccl]") {
  CHECK(hexadecimal("0x0") == 0U);
  CHECK(hexadecimal("0xFfffffffffffffff") == 0xffff'ffff'ffff'ffffU);
  for (const char* word : {"", "0x", "10", "0X10", "0x10000000000000000", "0x1g", "0x-1", "0x 1"}) {
    INFO(word);
    CHECK_FALSE(hexadecimal(word));
  }
}

TEST_CASE("words are taken off the front only where they stand there", "[nccl]") {
  std::string_view text = "Using network Socket";
  CHECK_FALSE(take(text, "network"));
  CHECK(take(text, "Using "));
  CHECK(take(text, ""));
  CHECK(text == "network Socket");
  CHECK_FALSE(take(text, "network Socket and more"));
}

}  // namespace
}  // namespace safelaunch::nccl
