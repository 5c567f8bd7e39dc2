#include "safelaunch/output/recording.h"

#include <future>

#include "catch.h"
#include "plumbing.h"

using namespace safelaunch;

using namespace safelaunch::output;
using namespace std::string_literals;
using testing::contents;

TEST_CASE("what is appended is in the file byte for byte, and at once", "[recording]") {
  const testing::TemporaryDirectory directory;
  Recording recording(directory.path() / "rank-0.out");
  recording.append("a\0\xff\r\n"s);
  recording.append("b");
  CHECK(contents(directory.path() / "rank-0.out") == "a\0\xff\r\nb"s);
  CHECK_FALSE(recording.failed());
}

TEST_CASE("a recording that exists is gone on with", "[recording]") {
  const testing::TemporaryDirectory directory;
  Recording(directory.path() / "log").append("one ");
  Recording(directory.path() / "log").append("two");
  CHECK(contents(directory.path() / "log") == "one two");
}

TEST_CASE("a full disk ends the recording and is counted from then on", "[recording]") {
  Recording recording("/dev/full");
  CHECK_FALSE(recording.failed());
  recording.append("12345");
  recording.append("678");
  REQUIRE(recording.failed());
  const auto loss = recording.untold_loss();
  REQUIRE(loss.has_value());
  CHECK(loss->reason == "No space left on device");
  CHECK(loss->bytes == 8);
}

TEST_CASE("a loss that the disk's thread meets after the end of the job is told, and once",
          "[recording]") {
  DiskQueue disk;
  std::promise<void> job_ends;
  std::optional<Recording> of_job(std::in_place, "/dev/full", &disk);
  REQUIRE(disk.post(0, [end = job_ends.get_future().share()] { end.wait(); }));
  of_job->append("12345");
  Recording recording = *of_job;
  CHECK_FALSE(of_job->untold_loss());
  of_job.reset();
  job_ends.set_value();
  REQUIRE(disk.drain(std::chrono::seconds(20)));
  const auto loss = recording.untold_loss();
  REQUIRE(loss.has_value());
  CHECK(loss->reason == "No space left on device");
  CHECK_FALSE(recording.untold_loss());
}

TEST_CASE("a stream that says nothing leaves no file", "[recording]") {
  const testing::TemporaryDirectory directory;
  Recording recording(directory.path() / "rank-0.out");
  recording.append("");
  CHECK_FALSE(std::filesystem::exists(directory.path() / "rank-0.out"));
}

TEST_CASE("a file that cannot be created is a recording that has failed", "[recording]") {
  Recording recording("/dev/null/rank-0.out");
  recording.append("lost");
  const auto loss = recording.untold_loss();
  REQUIRE(loss.has_value());
  CHECK(loss->path == "/dev/null/rank-0.out");
  CHECK(loss->reason == "Not a directory");
  CHECK(loss->bytes == 4);
}

TEST_CASE("a log that is truncated under us goes on at its beginning", "[recording]") {
  const testing::TemporaryDirectory directory;
  Recording recording(directory.path() / "log");
  recording.append("before");
  std::filesystem::resize_file(directory.path() / "log", 0);
  recording.append("after");
  CHECK(contents(directory.path() / "log") == "after");
}

TEST_CASE("a log is not written through a link that somebody has put there", "[recording]") {
  const testing::TemporaryDirectory directory;
  std::filesystem::create_symlink(directory.path() / "target", directory.path() / "log");
  Recording recording(directory.path() / "log");
  recording.append("secret");
  CHECK(recording.failed());
  CHECK_FALSE(std::filesystem::exists(directory.path() / "target"));
}
