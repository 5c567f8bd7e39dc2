#include "launcher/agree/folder_life.h"

#include "catch.h"
#include "launcher/agree/mac.h"
#include "launcher/agree/records.h"

namespace safelaunch::agree {
namespace {

TEST_CASE("the name of a seat's file reads back, under its key alone", "[folder]") {
  const SeatName held{12, 1'800'000'000'000'001, std::string(32, 'f'), 7, 3};
  const SeatName empty{0, 1, {}, 0, 0};
  for (const SeatName& seat : {held, empty}) {
    const std::string name = to_name("key", seat);
    CHECK(name.size() < 255);
    CHECK(seat_name("key", name) == seat);
    CHECK_FALSE(seat_name("other key", name));
  }
}

TEST_CASE("a forged, cut or foreign name reads as nothing", "[folder]") {
  std::string name = to_name("key", SeatName{1, 2, "abc", 3, 4});
  CHECK_FALSE(seat_name("key", name.substr(0, name.size() - 1)));
  name[5] = '7';
  CHECK_FALSE(seat_name("key", name));
  for (const std::string foreign :
       {"", ".", "seat", "seat.1.2.abc.3.4", ".nfs0000001", "core.12"}) {
    CHECK_FALSE(seat_name("key", foreign));
    CHECK_FALSE(lead_name("key", foreign));
    CHECK_FALSE(word_name(foreign));
  }
  CHECK_FALSE(lead_name("key", to_name("key", SeatName{1, 2, "abc", 3, 4})));
  CHECK(lead_name("key", to_name("key", LeadName{5, 6}))->generation == 5);
  CHECK(word_name(to_name(WordName{5, 6})) == WordName{5, 6});
  CHECK_FALSE(word_name("word.5.6x"));
}

TEST_CASE("a sealed record is nothing under another key or name, or once a byte differs",
          "[folder]") {
  const std::string record = sealed("key", "word.1.2", "go");
  CHECK(unsealed("key", "word.1.2", record) == "go");
  CHECK_FALSE(unsealed("other", "word.1.2", record));
  CHECK_FALSE(unsealed("key", "word.1.3", record));
  CHECK_FALSE(unsealed("key", "word.1.2", record + "!"));
  CHECK_FALSE(unsealed("key", "word.1.2", record.substr(0, 20)));
  CHECK_FALSE(unsealed("key", "word.1.2", ""));
}

TEST_CASE("the records of a board read back, and torn ones read as nothing", "[folder]") {
  const BoardRecord board{"id", "job-7", 4, Terms{}, 17};
  const std::string bytes = to_bytes(board);
  const auto read = board_record(bytes);
  REQUIRE(read);
  CHECK(read->seats == 4);
  CHECK(read->first_turn == 17);
  CHECK_FALSE(difference(*read, Claim{"a", {}, 4, "job-7", "host"}, Terms{}));
  const NewsRecord news{"abc", 3, "gpu-7", "text"};
  CHECK(news_record(to_bytes(news))->text == "text");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(board_record(bytes.substr(0, size)));
  for (std::size_t size = 0; size < to_bytes(news).size(); ++size)
    CHECK_FALSE(news_record(to_bytes(news).substr(0, size)));
}

TEST_CASE("two jobs have two names, whatever stands in them", "[folder]") {
  CHECK(plain_job_name("a/b") != plain_job_name("a_b"));
  CHECK(plain_job_name("../../etc").find('/') == std::string::npos);
  CHECK(plain_job_name(std::string(500, 'x')) != plain_job_name(std::string(501, 'x')));
  CHECK(plain_job_name(std::string(500, 'x')).size() < 100);
}

}  // namespace
}  // namespace safelaunch::agree
