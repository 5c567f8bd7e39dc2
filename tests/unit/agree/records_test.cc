#include "launcher/agree/records.h"
#include "catch.h"
#include "launcher/agree/mac.h"

namespace safelaunch::agree {
namespace {

BoardRecord board_record_of_a_test() {
  using namespace std::chrono_literals;
  return {"id", "job", 3, {.lease = 10s, .renew_every = 2s, .kill_margin = 3s}};
}

TEST_CASE("a sealed record is nothing under another key or name, or once a byte differs",
          "[records]") {
  const std::string record = sealed("key", "word.1.2", "go");
  CHECK(unsealed("key", "word.1.2", record) == "go");
  CHECK_FALSE(unsealed("other", "word.1.2", record));
  CHECK_FALSE(unsealed("key", "word.1.3", record));
  CHECK_FALSE(unsealed("key", "word.1.2", record + "!"));
  CHECK_FALSE(unsealed("key", "word.1.2", record.substr(0, 20)));
  CHECK_FALSE(unsealed("key", "word.1.2", ""));
}

TEST_CASE("a board differs from an agent in the first thing that differs, told with both",
          "[records]") {
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

TEST_CASE(
    "the records of a board read back; torn, lengthened or of another version they are nothing",
    "[records]") {
  const std::string board = to_bytes(board_record_of_a_test());
  const std::string news = to_bytes(NewsRecord{"abc", 3, "gpu-7", "text"});
  REQUIRE(board_record(board));
  CHECK(board_record(board)->seats == 3);
  CHECK(board_record(board)->terms.kill_margin == std::chrono::seconds(3));
  CHECK(news_record(news)->text == "text");
  for (std::size_t size = 0; size < board.size(); ++size)
    CHECK_FALSE(board_record(board.substr(0, size)));
  for (std::size_t size = 0; size < news.size(); ++size)
    CHECK_FALSE(news_record(news.substr(0, size)));
  CHECK_FALSE(board_record(board + "x"));
  std::string other = board;
  ++other[board.find('2')];
  CHECK_FALSE(board_record(other));
}

TEST_CASE("two jobs have two names, whatever stands in them", "[records]") {
  CHECK(plain_job_name("a/b") != plain_job_name("a_b"));
  CHECK(plain_job_name("../../etc").find('/') == std::string::npos);
  CHECK(plain_job_name(std::string(500, 'x')) != plain_job_name(std::string(501, 'x')));
  CHECK(plain_job_name(std::string(500, 'x')).size() < 100);
}

}  // namespace
}  // namespace safelaunch::agree
