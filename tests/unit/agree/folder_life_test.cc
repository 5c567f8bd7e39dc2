#include "launcher/agree/folder_life.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>

#include "catch.h"
#include "launcher/agree/folder_member.h"
#include "launcher/agree/mac.h"
#include "temporary_folder.h"

namespace safelaunch::agree {
namespace {

using safelaunch::testing::TemporaryFolder;

const std::string kToken = "the token of this test";

BoardRecord record_of(const std::string& id) {
  return {id, "job-7", 2, Terms{}, 100};
}

/// A board that one process sees, and can be told step by step.
struct Place {
  TemporaryFolder folder;
  std::string path = folder / "board";
  BoardRecord record = record_of("first");
  std::string key = key_of(record, kToken);

  Place() { REQUIRE(make_board(path, kToken, record).has_value()); }

  [[nodiscard]] BoardFolder open() const {
    bool nothing = false;
    return *BoardFolder::open(path, nothing);
  }
  [[nodiscard]] bool is_there() const { return std::filesystem::exists(path); }
  /// Renames seat 1's file.
  [[nodiscard]] bool move(const SeatName& from, const SeatName& to) const {
    return *open().move("seats/" + to_name(key, from), "seats/" + to_name(key, to));
  }
  const SeatName empty{1, 100};
  const SeatName held{1, 101, "aa"};
};

TEST_CASE("of two agents that make a board at once one makes it", "[folder]") {
  const Place place;
  CHECK(make_board(place.path, kToken, record_of("second")).has_value());
  CHECK((*read_record(place.open(), kToken))->id == "first");
  CHECK(std::distance(std::filesystem::directory_iterator(place.folder / ""), {}) == 1);
}

TEST_CASE("a board is made in an empty folder that somebody has left at its place", "[folder]") {
  const TemporaryFolder folder;
  const std::string path = folder / "board";
  std::filesystem::create_directory(path);
  CHECK(make_board(path, kToken, record_of("first")).has_value());
  bool nothing = false;
  CHECK(*state_of(*BoardFolder::open(path, nothing)) == BoardState::open);
}

TEST_CASE("a board with a held seat is not ended", "[folder]") {
  const Place place;
  REQUIRE(place.move(place.empty, place.held));
  CHECK(end_board(place.open(), place.key, 2).has_value());
  CHECK(*state_of(place.open()) == BoardState::open);
  REQUIRE(place.move(place.held, SeatName{1, 101, {}, 1, 0}));
  CHECK(end_board(place.open(), place.key, 2).has_value());
  CHECK_FALSE(place.is_there());
}

TEST_CASE("a board with a seat whose file is not seen is not ended", "[folder]") {
  const Place place;
  place.open().remove("seats/" + to_name(place.key, place.empty));
  CHECK(end_board(place.open(), place.key, 2).has_value());
  CHECK(*state_of(place.open()) == BoardState::open);
}

TEST_CASE("an agent that died in ending a board leaves it for the next one to decide", "[folder]") {
  const Place place;
  REQUIRE(*place.open().move("open", "closed.1234"));
  CHECK(*state_of(place.open()) == BoardState::closed);
  SECTION("who opens it again while a seat is held") {
    REQUIRE(place.move(place.empty, place.held));
    CHECK(end_board(place.open(), place.key, 2).has_value());
    CHECK(*state_of(place.open()) == BoardState::open);
  }
  SECTION("who ends it else") {
    CHECK(end_board(place.open(), place.key, 2).has_value());
    CHECK_FALSE(place.is_there());
  }
  SECTION("who cannot end it under the name that it was closed with before") {
    REQUIRE(*place.open().move("closed.1234", "open"));
    CHECK_FALSE(*place.open().move("closed.1234", "over"));
  }
}

/// The marks and words in a board's folder, as a reader finds them.
WordFiles found_in(const Place& place, const std::vector<LeadName>& leads,
                   const std::vector<WordName>& words) {
  const BoardFolder folder = place.open();
  for (const LeadName& lead : leads) REQUIRE(*folder.add("words/" + to_name(place.key, lead), {}));
  for (const WordName& word : words) REQUIRE(*folder.add("words/" + to_name(word), "x"));
  return *word_files(folder, place.key);
}

using WordNames = std::vector<WordName>;

TEST_CASE("on a board without a leader's mark no word counts", "[folder]") {
  const WordFiles files = found_in(Place(), {}, {{100, 1}});
  CHECK_FALSE(files.lead);
  CHECK(files.words == WordNames{});
  CHECK_FALSE(files.newest());
  CHECK(files.present() == 0);
}

TEST_CASE("words count in their order, and none of a later generation than the mark", "[folder]") {
  const WordFiles files = found_in(Place(), {{100, 4}}, {{101, 3}, {100, 12}, {99, 1}, {100, 2}});
  CHECK(files.words == WordNames{{99, 1}, {100, 2}, {100, 12}});
  CHECK(files.newest() == WordName{100, 12});
  CHECK(files.present() == 100);
}

TEST_CASE("the last word of a former leader is not the newest of the present one", "[folder]") {
  const WordFiles files = found_in(Place(), {{100, 9}, {101, 0}}, {{100, 2}});
  CHECK(files.lead == LeadName{101, 0});
  CHECK(files.former_leads == std::vector<LeadName>{{100, 9}});
  CHECK_FALSE(files.newest());
}

TEST_CASE("a leader that is gone has words, and is not present", "[folder]") {
  const WordFiles files = found_in(Place(), {{100, 9}, {100, 9, true}}, {{100, 2}});
  CHECK(files.lead == LeadName{100, 9, true});
  CHECK(files.newest() == WordName{100, 2});
  CHECK(files.present() == 0);
}

TEST_CASE("a mark that was made with another key is none", "[folder]") {
  const Place place;
  REQUIRE(*place.open().add("words/" + to_name("another key", LeadName{200, 0}), {}));
  CHECK(found_in(place, {{100, 0}}, {}).present() == 100);
}

TEST_CASE("files that are not ours stay when a board is ended", "[folder]") {
  const Place place;
  const std::string own = place.folder.write("board/notes.txt", "mine");
  CHECK(end_board(place.open(), place.key, 2).has_value());
  CHECK(std::filesystem::exists(own));
  CHECK(*state_of(place.open()) == BoardState::foreign);
}

TEST_CASE("whoever ended a board and was stopped removes nothing of the next one", "[folder]") {
  const Place place;
  const BoardFolder former = place.open();
  CHECK(end_board(place.open(), place.key, 2).has_value());
  REQUIRE(make_board(place.path, kToken, record_of("second")).has_value());
  CHECK_FALSE(*former.is_there());
  remove_board(former);
  CHECK(*state_of(place.open()) == BoardState::open);
  CHECK((*read_record(place.open(), kToken))->id == "second");
}

/// An agent at a shared folder, without its thread.
struct Member {
  Wishes wishes{};
  FolderMember member;
  std::vector<std::string> told{};

  Member(const std::string& folder, char digit, int seat)
      : member(folder, Terms{Duration{100}, Duration{0}, Duration{20}}, kToken) {
    wishes.claim = Claim{std::string(8, digit), seat, 2, "job-7", std::string("host-") + digit};
    wishes.claims = 1;
  }
  /// One round: what it told, in words.
  std::vector<std::string> round() {
    std::vector<std::string> now;
    for (const BoardEvent& event : member.round(wishes).events) {
      constexpr std::array kNames{"seated",  "parked",   "confirmed",   "word",   "standing",
                                  "vacated", "unseated", "unreachable", "refused"};
      now.emplace_back(kNames.at(event.index()));
    }
    told.insert(told.end(), now.begin(), now.end());
    return now;
  }
  void round_until(const std::string& what) {
    const TimePoint limit = Clock::now() + std::chrono::minutes(1);
    for (;;) {
      const std::vector<std::string> now = round();
      if (std::find(now.begin(), now.end(), what) != now.end()) return;
      REQUIRE(Clock::now() < limit);
      std::this_thread::yield();
    }
  }
};

TEST_CASE("a holder whose seat was taken is told so by its next beat, and confirmed no more",
          "[folder]") {
  const TemporaryFolder folder;
  Member leader(folder / "", 'a', 0);
  Member holder(folder / "", 'b', 1);
  Member taker(folder / "", 'c', 1);
  leader.round_until("confirmed");
  holder.round_until("confirmed");
  while (std::find(taker.told.begin(), taker.told.end(), "seated") == taker.told.end()) {
    leader.round();
    taker.round();
  }
  CHECK(holder.round() == std::vector<std::string>{"unseated"});
  CHECK(holder.round().empty());
  CHECK(taker.round() == std::vector<std::string>{"confirmed"});
}

TEST_CASE("nobody takes the seat of a holder that beats, however long it has waited", "[folder]") {
  const TemporaryFolder folder;
  Member holder(folder / "", 'b', 1);
  Member taker(folder / "", 'c', 1);
  holder.round_until("confirmed");
  for (int i = 0; i < 200; ++i) {
    taker.round();
    CHECK(holder.round() == std::vector<std::string>{"confirmed"});
  }
  CHECK(std::find(taker.told.begin(), taker.told.end(), "seated") == taker.told.end());
}

TEST_CASE("a late word of a former leader is heard by nobody", "[folder]") {
  const TemporaryFolder folder;
  Member former(folder / "", 'a', 0);
  Member member(folder / "", 'b', 1);
  Member next(folder / "", 'c', 0);
  former.round_until("confirmed");
  member.round_until("seated");
  while (std::find(next.told.begin(), next.told.end(), "seated") == next.told.end()) {
    member.round();
    next.round();
  }
  bool nothing = false;
  const BoardFolder board =
      *BoardFolder::open(folder / "safelaunch-" + plain_job_name("job-7"), nothing);
  const BoardRecord record = **read_record(board, kToken);
  const std::string name = to_name(WordName{record.first_turn + 1, 1});
  REQUIRE(*board.add("words/" + name, sealed(key_of(record, kToken), name, "go")));

  member.round();
  next.round();
  CHECK(std::count(member.told.begin(), member.told.end(), "word") == 0);
  CHECK(std::count(next.told.begin(), next.told.end(), "word") == 0);
}

TEST_CASE("a folder to which others can write is refused", "[folder]") {
  const TemporaryFolder folder;
  std::filesystem::permissions(folder / "", std::filesystem::perms::all);
  Member agent(folder / "", 'a', 0);
  CHECK(agent.round() == std::vector<std::string>{"refused"});
}

TEST_CASE("a folder that all may write to, but where each keeps his own, is good enough",
          "[folder]") {
  const TemporaryFolder folder;
  std::filesystem::permissions(folder / "",
                               std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  Member agent(folder / "", 'a', 0);
  agent.round_until("confirmed");
}

TEST_CASE("a folder whose parent is missing is refused: it may be a share that is not mounted",
          "[folder]") {
  const TemporaryFolder folder;
  Member agent(folder / "share/run1", 'a', 0);
  CHECK(agent.round() == std::vector<std::string>{"refused"});
  CHECK_FALSE(std::filesystem::exists(folder / "share"));
}

TEST_CASE("an agent whose board is removed under it is unseated", "[folder]") {
  const TemporaryFolder folder;
  Member agent(folder / "meeting", 'a', 0);
  agent.round_until("confirmed");
  std::filesystem::remove_all(folder / "meeting");
  CHECK(agent.round() == std::vector<std::string>{"unseated"});
}

TEST_CASE("files with forged names or contents change nothing", "[folder]") {
  const TemporaryFolder folder;
  Member leader(folder / "meeting", 'a', 0);
  Member member(folder / "meeting", 'b', 1);
  leader.round_until("confirmed");
  member.round_until("confirmed");
  leader.round_until("standing");
  for (const auto& board : std::filesystem::directory_iterator(folder / "meeting")) {
    const std::string at = "meeting/" + board.path().filename().string();
    const std::string forged(32, '0');
    static_cast<void>(folder.write(at + "/seats/seat.1.9999999999999999.ff.0.0." + forged, ""));
    static_cast<void>(folder.write(at + "/words/lead.9999999999999999.0." + forged, ""));
    static_cast<void>(folder.write(at + "/words/word.1.1", "end"));
  }
  CHECK(leader.round() == std::vector<std::string>{"confirmed"});
  CHECK(member.round() == std::vector<std::string>{"confirmed"});
}

}  // namespace
}  // namespace safelaunch::agree
