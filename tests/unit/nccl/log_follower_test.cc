#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <fstream>

#include "catch.h"
#include "safelaunch/nccl/log_follower.h"

using namespace safelaunch;

using namespace safelaunch::nccl;
namespace fs = std::filesystem;

namespace {

/// A folder of the test's own, gone with it.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "follower-XXXXXX").native();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::app) << text;
  }

 private:
  fs::path path_;
};

/// Follows files called log.*, and collects their lines.
struct Following {
  explicit Following(const fs::path& folder, bool expects = true)
      : follower(io, folder,
                 {.wanted = [](std::string_view name) { return name.starts_with("log."); },
                  .expects = [expects] { return expects; },
                  .on_line =
                      [this](const std::string& name, std::string_view line) {
                        lines.push_back(name + " " + std::string(line));
                      }}) {}

  /// Lets the kernel wake us until so many lines have come.
  void await_lines(std::size_t count) {
    while (lines.size() < count) REQUIRE(io.run_one_for(std::chrono::seconds(10)) == 1);
  }

  boost::asio::io_context io;
  std::vector<std::string> lines;
  LogFollower follower;
};

using Lines = std::vector<std::string>;

/// Whether this process has an inotify descriptor: to close it would keep a job's end waiting.
bool listens() {
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd"))
    if (fs::read_symlink(entry.path(), gone) == "anon_inode:inotify") return true;
  return false;
}

}  // namespace

TEST_CASE("lines come as they are written, file by file", "[nccl]") {
  const Folder folder;
  Following following(folder.path());

  folder.write("log.1", "one\ntw");
  following.await_lines(1);
  folder.write("log.2", "three\n");
  following.await_lines(2);
  folder.write("log.1", "o\n");
  following.await_lines(3);

  CHECK(following.lines == Lines{"log.1 one", "log.2 three", "log.1 two"});
}

TEST_CASE("files of others in the folder are left alone", "[nccl]") {
  const Folder folder;
  Following following(folder.path());

  folder.write("rank-0.out", "not this\n");
  folder.write("log.1", "this\n");
  following.await_lines(1);

  CHECK(following.lines == Lines{"log.1 this"});
}

TEST_CASE("what stood in a file before is left out", "[nccl]") {
  const Folder folder;
  folder.write("log.old", "from an earlier run\n");
  Following following(folder.path());

  folder.write("log.old", "new\n");
  following.await_lines(1);

  CHECK(following.lines == Lines{"log.old new"});
}

TEST_CASE("a file that is begun anew is read from its beginning", "[nccl]") {
  const Folder folder;
  folder.write("log.1", "a long line of an earlier run\n");
  Following following(folder.path());

  std::ofstream(folder.path() / "log.1", std::ios::trunc) << "new\n";
  following.await_lines(1);

  CHECK(following.lines == Lines{"log.1 new"});
}

TEST_CASE("everything that is there can be had at once", "[nccl]") {
  const Folder folder;
  Following following(folder.path());
  folder.write("log.1", "one\n");
  folder.write("log.2", "two\n");

  following.follower.read_now();

  CHECK(following.lines == Lines{"log.1 one", "log.2 two"});
}

TEST_CASE("whoever hears a line may ask for more", "[nccl]") {
  const Folder folder;
  boost::asio::io_context io;
  Lines lines;
  LogFollower* follower = nullptr;
  LogFollower reading(io, folder.path(),
                      {.wanted = [](std::string_view) { return true; },
                       .expects = [] { return true; },
                       .on_line =
                           [&](const std::string&, std::string_view line) {
                             lines.emplace_back(line);
                             follower->read_now();
                           }});
  follower = &reading;
  folder.write("log.1", "one\ntwo\nthree\n");

  reading.read_now();

  CHECK(lines == Lines{"one", "two", "three"});
}

TEST_CASE("after the end nothing is read", "[nccl]") {
  const Folder folder;
  Following following(folder.path());
  following.follower.stop();
  folder.write("log.1", "too late\n");
  following.follower.read_now();
  CHECK(following.lines.empty());
}

TEST_CASE("a pipe or a link under a wanted name is no log", "[nccl]") {
  const Folder folder;
  Following following(folder.path());
  REQUIRE(mkfifo((folder.path() / "log.pipe").c_str(), 0600) == 0);
  folder.write("elsewhere", "secret\n");
  fs::create_symlink(folder.path() / "elsewhere", folder.path() / "log.link");

  following.follower.read_now();

  CHECK(following.lines.empty());
}

TEST_CASE("a line of megabytes is cut, and the next one is whole", "[nccl]") {
  const Folder folder;
  Following following(folder.path());
  folder.write("log.1", std::string(9 << 20, 'x') + "\nnext\n");
  following.follower.read_now();
  following.await_lines(2);
  CHECK(following.lines[0].size() <= (64 << 10) + 6);
  CHECK(following.lines[1] == "log.1 next");
}

TEST_CASE("the end of each file is at hand", "[nccl]") {
  const Folder folder;
  Following following(folder.path());
  folder.write("log.1", std::string(100 << 10, 'x') + "\nthe end");
  following.follower.read_now();

  const auto endings = following.follower.endings();
  REQUIRE(endings.size() == 1);
  CHECK(endings[0].name == "log.1");
  CHECK(endings[0].text.size() == 64 << 10);
  CHECK(endings[0].text.ends_with("\nthe end"));
}

TEST_CASE("logs of former jobs are not opened until they grow", "[nccl]") {
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const Folder folder;
  for (int i = 0; i < 100; ++i) folder.write("log." + std::to_string(i), "old\n");
  const auto before = open_files();

  Following following(folder.path());
  following.follower.read_now();
  CHECK(open_files() < before + 50);
  folder.write("log.7", "new\n");
  following.await_lines(1);

  CHECK(following.lines == Lines{"log.7 new"});
}

TEST_CASE("where no log is expected nothing listens before there is one", "[nccl]") {
  const Folder folder;
  folder.write("log.former", "old\n");
  Following following(folder.path(), false);
  for (int looks = 0; looks < 2; ++looks) {
    REQUIRE(following.io.run_one_for(std::chrono::seconds(10)) == 1);
    CHECK_FALSE(listens());
  }
  folder.write("log.1", "begin\n");
  following.await_lines(1);
  CHECK(following.lines == Lines{"log.1 begin"});
  folder.write("log.1", "more\n");
  following.await_lines(2);
  CHECK(listens());
}

TEST_CASE("where a log is expected it is listened for before it is there", "[nccl]") {
  const Folder folder;
  Following following(folder.path());
  while (!listens()) REQUIRE(following.io.run_one_for(std::chrono::seconds(10)) == 1);
  folder.write("log.1", "begin\n");
  following.await_lines(1);
  CHECK(following.lines == Lines{"log.1 begin"});
}
