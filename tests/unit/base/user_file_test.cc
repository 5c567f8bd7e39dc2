#include "safelaunch/base/user_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using safelaunch::testing::TemporaryFolder;

namespace {

std::string fd_path(int fd) {
  return "/dev/fd/" + std::to_string(fd);
}

std::string rest_of(int fd) {
  std::array<char, 64> text{};
  const ssize_t size = ::read(fd, text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

struct Pipe {
  UniqueFd reader, writer;
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
};

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

unsigned permissions_of(const std::string& path) {
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777U;
}

/// No file of ours grows beyond this, as on a full disk: a write is short, the next one fails.
class DiskOf {
 public:
  explicit DiskOf(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~DiskOf() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("a regular file is read up to the limit", "[user_file]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("f", "12345");

  CHECK(read_user_file(path).value() == "12345");
  CHECK(read_user_file(path, 3).value() == "123");
  CHECK(read_user_file(folder.write("empty", "")).value().empty());
  CHECK(read_user_file("/proc/self/stat").value().size() > 10);  // its size is said to be 0
}

TEST_CASE("the bytes of a pipe are left to the job", "[user_file]") {
  const Pipe pipe;
  REQUIRE(::write(pipe.writer.get(), "print(1)", 8) == 8);

  CHECK(read_user_file(fd_path(pipe.reader.get())).has_error());
  CHECK(rest_of(pipe.reader.get()) == "print(1)");
}

TEST_CASE("a file that is somebody's stdin is read without moving his position", "[user_file]") {
  const TemporaryFolder folder;
  const UniqueFd open_file(::open(folder.write("f", "print(1)").c_str(), O_RDONLY | O_CLOEXEC));

  CHECK(read_user_file(fd_path(open_file.get())).value() == "print(1)");
  CHECK(rest_of(open_file.get()) == "print(1)");
}

TEST_CASE("a FIFO is not waited for, and its writer is not let go", "[user_file]") {
  const TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::thread writer([&fifo] {
    const UniqueFd end(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
    (void)!::write(end.get(), "print(1)", 8);
  });

  for (int i = 0; i < 1000; ++i) CHECK(read_user_file(fifo).has_error());

  const UniqueFd job(::open(fifo.c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(rest_of(job.get()) == "print(1)");
  writer.join();
}

TEST_CASE("devices, folders and files that are not there are errors", "[user_file]") {
  const TemporaryFolder folder;
  CHECK(read_user_file("/dev/zero").error().message ==
        "/dev/zero: is not a regular file, so it is not read");
  CHECK(read_user_file(folder / ".").has_error());
  CHECK(read_user_file(folder / "none").error().message ==
        folder / "none" + ": cannot be read: No such file or directory");
}

TEST_CASE("a link is followed or refused, as asked", "[user_file]") {
  const TemporaryFolder folder;
  const std::string link = folder / "link";
  REQUIRE(::symlink(folder.write("f", "text").c_str(), link.c_str()) == 0);

  CHECK(read_user_file(link).value() == "text");
  CHECK(read_user_file(link, kMostOfUserFile, Links::refused).has_error());
}

TEST_CASE("a log is made for us alone, and appended to", "[user_file]") {
  const TemporaryFolder folder;
  const std::string path = folder / "log";
  for (const char* line : {"one\n", "two\n"}) {
    const UniqueFd log = open_to_append(path).value();
    REQUIRE(::write(log.get(), line, 4) == 4);
  }
  CHECK(user_file_text(path) == "one\ntwo\n");
  struct stat facts {};
  REQUIRE(::stat(path.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777U) == 0600);
}

TEST_CASE("a log that others have laid out is not written to", "[user_file]") {
  const TemporaryFolder folder;
  const std::string kept = folder.write("kept", "text");
  REQUIRE(::symlink(kept.c_str(), (folder / "link").c_str()) == 0);
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  const UniqueFd reader(::open((folder / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));

  CHECK(open_to_append(folder / "link").error().message == "Too many levels of symbolic links");
  CHECK(open_to_append(folder / "fifo").error().message == "it is a FIFO");
  CHECK(open_to_append(folder / "none/log").error().message == "No such file or directory");
  CHECK(user_file_text(kept) == "text");
}

TEST_CASE("a log of another user's is not written to", "[user_file]") {
  if (::geteuid() != 0) return;  // only root can give a file away
  const TemporaryFolder folder;
  const std::string path = folder.write("log", "");
  REQUIRE(::chown(path.c_str(), 1001, 1001) == 0);
  CHECK(open_to_append(path).error().message == "it belongs to uid 1001");
}

TEST_CASE("a file of zero bytes wanted is none, and one that cannot be read is nothing",
          "[user_file]") {
  const TemporaryFolder folder;
  CHECK(user_file_text(folder.write("f", "text"), 0) == "");
  CHECK_FALSE(user_file_text(folder / "none"));
}

TEST_CASE("a replaced file has the new text, is the user's alone, and no other file is left",
          "[user_file]") {
  const TemporaryFolder folder;
  const std::string path = folder / "outcome.json";
  for (const auto replace : {replace_file, replace_lasting_file}) {
    REQUIRE(replace(path, "old and longer").has_value());
    REQUIRE(replace(path, "new").has_value());
    CHECK(user_file_text(path) == "new");
    CHECK(permissions_of(path) == 0600);
    CHECK(files_in(folder / "") == 1);
  }
}

TEST_CASE("a file that the disk takes in part alone leaves the old one", "[user_file]") {
  const TemporaryFolder folder;
  const std::string path = folder / "outcome.json";
  REQUIRE(replace_file(path, "old").has_value());
  {
    const DiskOf small(1000);
    CHECK_FALSE(replace_file(path, std::string(5000, 'x')).has_value());
    CHECK(errno == EFBIG);
    CHECK_FALSE(replace_lasting_file(path, std::string(5000, 'x')).has_value());
  }
  CHECK(user_file_text(path) == "old");
  CHECK(files_in(folder / "") == 1);
}

TEST_CASE("a folder above a replaced file is made for what outlasts a run alone", "[user_file]") {
  const TemporaryFolder folder;
  const std::string path = folder / "a/b/worked.json";
  CHECK_FALSE(replace_file(path, "x").has_value());
  CHECK(errno == ENOENT);
  REQUIRE(replace_lasting_file(path, "x").has_value());
  CHECK(user_file_text(path) == "x");
  CHECK(permissions_of(folder / "a") == 0700);
  CHECK_FALSE(replace_lasting_file("/proc/none/worked.json", "x").has_value());
}

TEST_CASE("a folder in the place of a replaced file stays", "[user_file]") {
  const TemporaryFolder folder;
  const std::string path = folder / "outcome.json";
  std::filesystem::create_directory(path);
  const Result<void> replaced = replace_file(path, "x");
  REQUIRE(replaced.has_error());
  CHECK(replaced.error().message == "cannot replace " + path + ": Is a directory");
  CHECK(files_in(folder / "") == 1);
}
