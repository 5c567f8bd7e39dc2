#include <unistd.h>

#include "catch.h"
#include "safelaunch/nccl/watch.h"

using namespace safelaunch;

using namespace safelaunch::nccl;
using Way = Listening::Way;
using Owner = Listening::Owner;

namespace {

const Door kDoor{"/runs/1/attempt-1", "127.0.0.1:4000", "0x1234"};

}  // namespace

TEST_CASE("NCCL writes a log of its own into the attempt's folder", "[nccl]") {
  Environment environment;
  const Listening listening = listen(kDoor, {}, environment);

  CHECK(listening.way == Way::files);
  CHECK(listening.owner == Owner::we);
  CHECK(listening.file.directory == "/runs/1/attempt-1");
  CHECK(environment.at("NCCL_DEBUG") == "INFO");
  CHECK(environment.at("NCCL_DEBUG_FILE") == "/runs/1/attempt-1/nccl.%h.%p");
  CHECK(environment.at("NCCL_DEBUG_SUBSYS") == "INIT,BOOTSTRAP,ENV,NET");
  CHECK(environment.at("NCCL_RAS_ADDR") == "127.0.0.1:4000");
  CHECK(environment.at("NCCL_SOCKET_MAGIC") == "0x1234");
}

TEST_CASE("what the user has set for NCCL stays", "[nccl]") {
  Environment environment{{"NCCL_DEBUG", "WARN"}, {"NCCL_RAS_ADDR", "localhost:1"}};
  const Listening listening = listen(kDoor, {}, environment);

  CHECK(listening.way == Way::streams);
  CHECK(listening.owner == Owner::user);
  CHECK(listening.ras_address.empty());
  CHECK(environment.at("NCCL_DEBUG") == "WARN");
  CHECK(environment.at("NCCL_RAS_ADDR") == "localhost:1");
  CHECK_FALSE(environment.contains("NCCL_DEBUG_FILE"));
  CHECK_FALSE(environment.contains("NCCL_DEBUG_SUBSYS"));
}

TEST_CASE("a log file of the user's is read where it is", "[nccl]") {
  Environment environment{{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_FILE", "/tmp/mine.%p"}};
  const Listening listening = listen(kDoor, {}, environment);

  CHECK(listening.way == Way::files);
  CHECK(listening.owner == Owner::user);
  CHECK(listening.file.directory == "/tmp");
  CHECK(listening.file.name == "mine.%p");
  CHECK(listening.variable == "/tmp/mine.%p");
}

TEST_CASE("where nothing can be written NCCL is told nothing about a log", "[nccl]") {
  Environment environment;
  const Listening listening = listen({{}, "127.0.0.1:4000", "0x1"}, {}, environment);
  CHECK(listening.way == Way::nowhere);
  CHECK_FALSE(environment.contains("NCCL_DEBUG"));
}

TEST_CASE("ranks that others start on other hosts get no path of this one", "[nccl]") {
  Environment environment;
  const Listening listening = listen(kDoor, {job::Descendants::none, 2}, environment);
  CHECK(listening.way == Way::nowhere);
  CHECK(environment.empty());
}

TEST_CASE("on one node of several only the log is set", "[nccl]") {
  Environment environment;
  const Listening listening = listen(kDoor, {job::Descendants::some, 2}, environment);
  CHECK(listening.way == Way::files);
  CHECK_FALSE(environment.contains("NCCL_RAS_ADDR"));
  CHECK_FALSE(environment.contains("NCCL_SOCKET_MAGIC"));
}

TEST_CASE("a door has a port and a number of its own, and no folder that cannot be written",
          "[nccl]") {
  const Door first = open_door("/proc/1");
  const Door second = open_door({});
  CHECK(first.directory.empty());
  CHECK(second.directory.empty());
  CHECK(first.ras_address.starts_with("127.0.0.1:"));
  CHECK(first.socket_magic != second.socket_magic);
}
