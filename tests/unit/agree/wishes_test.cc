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

TEST_CASE("each event of a board reaches the call of its name", "[wishes]") {
  struct Names final : Board::Listener {
    std::vector<std::string> heard{};
    void seated(const Seat& seat) override {
      heard.push_back("seated " + std::to_string(seat.number));
    }
    void parked(const std::string& why) override { heard.push_back("parked " + why); }
    void confirmed(TimePoint) override { heard.emplace_back("confirmed"); }
    void word(const Word& word) override { heard.push_back("word " + word.text); }
    void standing(const Standing& one) override { heard.push_back("standing " + one.text); }
    void vacated(int seat) override { heard.push_back("vacated " + std::to_string(seat)); }
    void unseated(const std::string& why) override { heard.push_back("unseated " + why); }
    void unreachable(const std::string& why) override { heard.push_back("unreachable " + why); }
    void refused(const Error& error) override { heard.push_back("refused " + error.message); }
  } names;
  const std::vector<BoardEvent> events{Seated{{2, 7}},
                                       Parked{"a"},
                                       Confirmed{},
                                       WordCame{{7, 1, "b"}},
                                       StandingCame{{1, "i", "h", "c"}},
                                       SeatVacated{3},
                                       Unseated{"d"},
                                       Unreachable{"e"},
                                       Refused{{Errc::usage, "f"}}};
  for (const BoardEvent& event : events) tell(names, event);
  CHECK(names.heard == std::vector<std::string>{"seated 2", "parked a", "confirmed", "word b",
                                                "standing c", "vacated 3", "unseated d",
                                                "unreachable e", "refused f"});
}

}  // namespace safelaunch::agree
