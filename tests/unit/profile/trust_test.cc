#include "safelaunch/profile/trust.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "catch.h"
#include "safelaunch/base/unique_fd.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::profile;
using safelaunch::testing::TemporaryFolder;

namespace {

constexpr unsigned kMe = 1000;
constexpr unsigned kStranger = 1001;

std::string refusal_of_folder(const std::string& path) {
  const auto text = read_trusted_file(path);
  return text.has_error() ? text.error().message : "accepted";
}

bool trusted(unsigned owner, unsigned mode, FileFacts::Type type = FileFacts::Type::regular) {
  return !distrust({type, owner, mode}, FileFacts::Type::regular, kMe, "f");
}

}  // namespace

TEST_CASE("a file of ours or root's that nobody else can write to is trusted", "[trust]") {
  for (const unsigned mode : {0400U, 0600U, 0644U, 0755U, 0444U, 0000U}) {
    INFO(mode);
    CHECK(trusted(kMe, mode));
    CHECK(trusted(0, mode));
  }
}

TEST_CASE("a file that others own or can write to is not trusted", "[trust]") {
  for (const unsigned mode : {0600U, 0644U, 0444U}) CHECK_FALSE(trusted(kStranger, mode));
  for (const unsigned mode : {0620U, 0602U, 0664U, 0666U, 0777U, 02664U, 01777U, 0022U, 0002U}) {
    INFO(mode);
    CHECK_FALSE(trusted(kMe, mode));
    CHECK_FALSE(trusted(0, mode));
  }
}

TEST_CASE("what is no regular file is not trusted, whoever owns it", "[trust]") {
  using Type = FileFacts::Type;
  for (const Type type : {Type::directory, Type::fifo, Type::socket, Type::device})
    CHECK_FALSE(trusted(kMe, 0600, type));
}

TEST_CASE("the refusal_of_folder says how to mend it", "[trust]") {
  const auto why = [](unsigned owner, unsigned mode) {
    return *distrust({FileFacts::Type::regular, owner, mode}, FileFacts::Type::regular, kMe, "a/b");
  };
  CHECK(why(kMe, 0664) ==
        "its group can write to it (mode 0664) and so change what the job runs; run `chmod go-w "
        "a/b`");
  CHECK(why(kMe, 0666) ==
        "everybody can write to it (mode 0666) and so change what the job runs; run `chmod go-w "
        "a/b`");
  CHECK(why(kStranger, 0600) ==
        "it belongs to uid 1001, who could change what the job runs; make a copy of your own");
}

TEST_CASE("a trusted file is read whole, and one that is not there is none", "[trust]") {
  const TemporaryFolder folder;
  const std::string long_text(100'000, 'x');

  CHECK(read_trusted_file(folder.write("a", long_text)).value() == long_text);
  CHECK(read_trusted_file(folder.write("empty", "")).value() == "");
  CHECK(read_trusted_file(folder / "none").value() == std::nullopt);
  CHECK(read_trusted_file(folder / "a/none").value() == std::nullopt);
}

TEST_CASE("a file with more than the bytes allowed is refused", "[trust]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "12345");

  CHECK(read_trusted_file(path, 5).value() == "12345");
  CHECK(read_trusted_file(path, 4).error().message == path + ": refused: it has more than 4 bytes");
}

TEST_CASE("files that others can write to are refused when read", "[trust]") {
  const TemporaryFolder folder;
  for (const unsigned mode : {0620U, 0602U, 0664U, 0666U}) {
    const std::string path = folder.write("f", "x", mode);
    CHECK(refusal_of_folder(path).find("run `chmod go-w " + path + "`") != std::string::npos);
  }
}

TEST_CASE("a symbolic link is refused, wherever it points", "[trust]") {
  const TemporaryFolder folder;
  const std::string good = folder.write("good", "x");
  for (const std::string& target : {good, folder / "none", std::string("/etc/passwd")}) {
    const std::string link = folder / "link";
    REQUIRE(symlink(target.c_str(), link.c_str()) == 0);
    CHECK(refusal_of_folder(link).find("it is a symbolic link") != std::string::npos);
    REQUIRE(unlink(link.c_str()) == 0);
  }
}

TEST_CASE("a FIFO, a socket, a folder and a device are refused at once", "[trust]") {
  const TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const std::string socket_path = folder / "socket";
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(socket_path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size());
  REQUIRE(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);

  CHECK(refusal_of_folder(fifo) == fifo + ": refused: it is a FIFO, not a regular file");
  CHECK(refusal_of_folder(socket_path) != "accepted");
  CHECK(refusal_of_folder(folder / ".") != "accepted");
  CHECK(refusal_of_folder("/dev/null") == "/dev/null: refused: it is a device, not a regular file");
  CHECK(refusal_of_folder("/dev/zero") != "accepted");
}

TEST_CASE("a foreign file is refused also when root reads it", "[trust]") {
  if (geteuid() != 0) return;  // only root can give a file away
  const TemporaryFolder folder;
  const std::string path = folder.write("f", "x");
  REQUIRE(chown(path.c_str(), 65534, 65534) == 0);

  CHECK(refusal_of_folder(path).find("it belongs to uid 65534") != std::string::npos);
}

TEST_CASE("a folder that others can write to is not trusted", "[trust]") {
  const TemporaryFolder folder;
  const std::string path = folder / "f";
  REQUIRE(mkdir(path.c_str(), 0700) == 0);
  CHECK_FALSE(distrust_folder(path));

  REQUIRE(chmod(path.c_str(), 0777) == 0);
  CHECK(distrust_folder(path));
  CHECK_FALSE(distrust_folder(folder / "none"));
}
