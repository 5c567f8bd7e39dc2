#include "safelaunch/base/random.h"

#include <algorithm>
#include <array>
#include <set>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("random words are of hexadecimal digits, as long as asked for, and never the same",
          "[random]") {
  CHECK(random_word(0).empty());
  std::set<std::string> words;
  for (int i = 0; i < 100; ++i) words.insert(random_word(16));
  CHECK(words.size() == 100);
  for (const std::string& word : words) {
    CHECK(word.size() == 32);
    CHECK(word.find_first_not_of("0123456789abcdef") == std::string::npos);
  }
}

TEST_CASE("each byte of a buffer is filled with random ones, however large it is", "[random]") {
  std::array<std::byte, 5'000> bytes{};  // more than getrandom(2) promises to give in one call
  fill_with_random(bytes);
  // Of 5,000 random bytes some 20 are zero; 120 would need a universe of tries.
  CHECK(std::ranges::count(bytes, std::byte{0}) < 120);
  for (std::size_t from = 0; from < bytes.size(); from += 250)
    CHECK(std::ranges::count(std::span(bytes).subspan(from, 250), std::byte{0}) < 60);
  CHECK(random_number() != random_number());
}
