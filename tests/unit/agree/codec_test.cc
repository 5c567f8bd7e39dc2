#include "launcher/agree/codec.h"

#include <limits>

#include "catch.h"
#include "launcher/agree/records.h"

namespace safelaunch::agree {
namespace {

template <class Number>
Number again(Number value) {
  const std::string bytes = Writer().number(value).take();
  CHECK(bytes.size() == sizeof(Number));
  Reader reader(bytes);
  const Number read = reader.number<Number>();
  CHECK(reader.whole());
  return read;
}

BoardRecord board_record_of_a_test() {
  using namespace std::chrono_literals;
  return {"id", "job", 3, {.lease = 10s, .renew_every = 2s, .kill_margin = 3s}};
}

}  // namespace

TEST_CASE("a number has its greatest byte first, and reads back at its bounds", "[codec]") {
  CHECK(Writer().number(std::uint32_t{0x01020304}).take() == "\1\2\3\4");
  CHECK(Writer().number(-2).take() == "\xff\xff\xff\xfe");
  CHECK(again(std::numeric_limits<std::int64_t>::min()) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(again(std::numeric_limits<std::uint64_t>::max()) ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(again(std::uint8_t{255}) == 255);
  CHECK(again(-1) == -1);
}

TEST_CASE("texts of any bytes read back, each with its length", "[codec]") {
  const std::string odd("a\0\xff", 3);
  const std::string bytes = Writer().text(odd).text("").raw("raw").take();
  Reader reader(bytes);
  CHECK(reader.text() == odd);
  CHECK(reader.text().empty());
  CHECK_FALSE(reader.whole());
  CHECK(reader.raw(3) == "raw");
  CHECK(reader.whole());
}

TEST_CASE("once something is missing all that follows reads as empty", "[codec]") {
  const std::string bytes = Writer().number(std::uint32_t{4'000'000'000}).raw("abcdefgh").take();
  Reader reader(bytes);
  CHECK(reader.text().empty());
  CHECK(reader.number<std::uint8_t>() == 0);
  CHECK(reader.raw(0).empty());
  CHECK_FALSE(reader.whole());
}

TEST_CASE("a board differs from an agent in the first thing that differs, told with both",
          "[codec]") {
  using namespace std::chrono_literals;
  const BoardRecord board = board_record_of_a_test();
  Claim claim{.incarnation = "i", .seat = 0, .seats = 3, .job = "job", .host = "h"};
  Terms terms = board.terms;
  CHECK_FALSE(difference(board, claim, terms));
  terms.kill_margin = 4s;
  CHECK(difference(board, claim, terms) ==
        "the board has a margin to kill of 3s, and this node has 4s");
  terms.renew_every = 1s;
  CHECK(difference(board, claim, terms) ==
        "the board has a time between renewals of 2s, and this node has 1s");
  terms.lease = 30s;
  CHECK(difference(board, claim, terms) == "the board has a lease of 10s, and this node has 30s");
  claim.seats = 2;
  CHECK(difference(board, claim, terms) == "the board is for 3 nodes, and this node expects 2");
  claim.job = "other";
  CHECK(difference(board, claim, terms) == "it belongs to job 'job', not to 'other'");
}

TEST_CASE("a record of another version, or a lengthened one, reads as nothing", "[codec]") {
  const std::string bytes = to_bytes(board_record_of_a_test());
  REQUIRE(board_record(bytes));
  CHECK(board_record(bytes)->terms.kill_margin == std::chrono::seconds(3));
  CHECK_FALSE(board_record(bytes + "x"));
  std::string other = bytes;
  ++other[bytes.find('2')];
  CHECK_FALSE(board_record(other));
}

}  // namespace safelaunch::agree
