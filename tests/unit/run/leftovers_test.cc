#include "launcher/run/leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/left_files.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::run;
using safelaunch::testing::TemporaryFolder;

namespace {

/// A file with a name that NCCL gives its segments, gone with the test.
class Segment {
 public:
  Segment() { make(); }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() { std::filesystem::remove(path()); }

  /// A segment with the same name, and another inode.
  void make_anew() {
    std::filesystem::rename(path(), path() + "-former");
    make();
    std::filesystem::remove(path() + "-former");
  }
  [[nodiscard]] std::string path() const {
    return fmt::format("/dev/shm/nccl-{:06}", ::getpid() % 1'000'000);
  }
  [[nodiscard]] host::LeftFile file() const { return host::file_at(path()).value(); }
  [[nodiscard]] bool is_there() const { return std::filesystem::exists(path()); }

 private:
  void make() const { std::ofstream(path()) << "shared"; }
};

}  // namespace

TEST_CASE("a segment that an attempt left and nobody uses is removed", "[leftovers]") {
  const Segment segment;
  const host::LeftFile file = segment.file();
  const auto removed = remove_left_segments({file});
  REQUIRE(removed.size() == 1);
  CHECK(removed.front().path == file.path);
  CHECK_FALSE(segment.is_there());
}

TEST_CASE("a segment that somebody has open stays", "[leftovers]") {
  const Segment segment;
  const std::ifstream reader(segment.path());
  CHECK(remove_left_segments({segment.file()}).empty());
  CHECK(segment.is_there());
}

TEST_CASE("a segment that has taken the name of the attempt's stays", "[leftovers]") {
  Segment segment;
  const host::LeftFile former = segment.file();
  segment.make_anew();
  CHECK(remove_left_segments({former}).empty());
  CHECK(segment.is_there());
}

TEST_CASE("a file of the user's own in /dev/shm is never removed", "[leftovers]") {
  host::LeftFile own;
  own.path = "/dev/shm/my-dataset";
  CHECK(remove_left_segments({own}).empty());
}

TEST_CASE("a segment that no process of the job has mapped is not the attempt's", "[leftovers]") {
  const Segment segment;
  const auto found = segments_of_descendants(std::chrono::hours(1), std::chrono::minutes(1));
  CHECK(std::ranges::find(found, segment.path(), &host::LeftFile::path) == found.end());
}

TEST_CASE("the segments of an attempt are recorded in its run directory", "[leftovers]") {
  const TemporaryFolder folder;
  const Segment segment;
  record_segments_in(folder / "", {segment.file()}, "mark");
  std::ifstream record(folder / host::kSegmentRecordFile);
  const std::string text{std::istreambuf_iterator<char>(record), {}};
  CHECK(text.find(segment.path()) != std::string::npos);
}

TEST_CASE("memory of GPUs that were never seen is not waited for", "[leftovers]") {
  boost::asio::io_context io;
  launch::Reaper reaper(io, [](int, const ExitStatus&) {});
  GpuMemory memory(io, reaper, {});
  std::vector<std::string> told;
  memory.when_back([&](const gpu::Drain& drain) { told.push_back(drain.why); });
  while (told.empty()) REQUIRE(io.run_one_for(std::chrono::seconds(60)) > 0);
  CHECK(told == std::vector<std::string>{""});
}
