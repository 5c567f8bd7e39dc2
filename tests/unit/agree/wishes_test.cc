#include "launcher/agree/wishes.h"

#include "catch.h"

namespace safelaunch::agree {
namespace {

Wishes of_a_leader() {
  Wishes wishes;
  wishes.text = std::make_shared<const std::string>("ready");
  wishes.version = 4;
  wishes.words = {{7, 1, "gather"}, {7, 2, "go"}, {8, 3, "stop"}};
  return wishes;
}

std::vector<std::uint64_t> wanted_words(const Wishes& wishes) {
  std::vector<std::uint64_t> numbers;
  for (const Word& word : wishes.words) numbers.push_back(word.number);
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("words that the board has taken are wanted no more", "[wishes]") {
  for (const auto& [taken, left] : {std::pair<Word, Numbers>{{7, 1, ""}, {2, 3}},
                                    {{7, 2, ""}, {3}},
                                    {{8, 3, ""}, {1, 2}},
                                    {{6, 9, ""}, {1, 2, 3}}}) {
    Wishes wishes = of_a_leader();
    take_note(wishes, {.taken = taken});
    CHECK(wanted_words(wishes) == left);
    CHECK(*wishes.text == "ready");
  }
}

TEST_CASE("an agent that is unseated wants nothing said or published for another seat",
          "[wishes]") {
  Wishes wishes = of_a_leader();
  take_note(wishes, {.events = {Confirmed{}, Unseated{"late"}}});
  CHECK(wishes.words.empty());
  CHECK(wishes.text->empty());
  CHECK(wishes.version == 5);
}

TEST_CASE("news that take no seat away change no wish", "[wishes]") {
  Wishes wishes = of_a_leader();
  take_note(wishes, {.events = {Seated{}, Parked{"x"}, Unreachable{"y"}, SeatVacated{1}}});
  CHECK(wanted_words(wishes) == Numbers{1, 2, 3});
  CHECK(wishes.version == 4);
}

}  // namespace safelaunch::agree
