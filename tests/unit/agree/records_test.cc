#include "launcher/agree/records.h"
#include "catch.h"
#include "launcher/agree/mac.h"

namespace safelaunch::agree {
namespace {

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

TEST_CASE("the records of a board read back, and torn ones read as nothing", "[records]") {
  const BoardRecord board{"id", "job-7", 4, Terms{}};
  const std::string bytes = to_bytes(board);
  const auto read = board_record(bytes);
  REQUIRE(read);
  CHECK(read->seats == 4);
  CHECK_FALSE(difference(*read, Claim{"a", {}, 4, "job-7", "host"}, Terms{}));
  const NewsRecord news{"abc", 3, "gpu-7", "text"};
  CHECK(news_record(to_bytes(news))->text == "text");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(board_record(bytes.substr(0, size)));
  for (std::size_t size = 0; size < to_bytes(news).size(); ++size)
    CHECK_FALSE(news_record(to_bytes(news).substr(0, size)));
}

TEST_CASE("two jobs have two names, whatever stands in them", "[records]") {
  CHECK(plain_job_name("a/b") != plain_job_name("a_b"));
  CHECK(plain_job_name("../../etc").find('/') == std::string::npos);
  CHECK(plain_job_name(std::string(500, 'x')) != plain_job_name(std::string(501, 'x')));
  CHECK(plain_job_name(std::string(500, 'x')).size() < 100);
}

}  // namespace
}  // namespace safelaunch::agree
