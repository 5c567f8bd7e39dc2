#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <array>

#include "catch.h"
#include "child.h"
#include "safelaunch/host/activity.h"

using namespace safelaunch;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;

namespace {

/// Samples until two in a row give `wanted`: a child reaches its state a moment after it is ready.
bool becomes(const Child& child, Activity wanted) {
  auto before = sample_tree(child.id(), Clock::now(), Procfs());
  return eventually([&] {
    ::usleep(50'000);
    auto after = sample_tree(child.id(), Clock::now(), Procfs());
    const auto seen = classify(before, after);
    before = std::move(after);
    return seen.activity == wanted;
  });
}

void wait_for_ever(int fd) {
  char byte = 0;
  static_cast<void>(::read(fd, &byte, 1));
}

}  // namespace

TEST_CASE("a process that reads from a silent socket is seen as quiet") {
  Child child([] {
    std::array<int, 2> pair{};
    static_cast<void>(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()));
    wait_for_ever(pair[0]);
  });
  CHECK(becomes(child, Activity::quiet));
}

TEST_CASE("a process that polls without a timeout is seen as quiet") {
  Child child([] { ::poll(nullptr, 0, -1); });
  CHECK(becomes(child, Activity::quiet));
}

TEST_CASE("a process that sleeps is seen as idling") {
  Child child([] { ::sleep(1000); });
  CHECK(becomes(child, Activity::idling));
}

TEST_CASE("a process that polls with a timeout is seen as idling") {
  Child child([] { ::poll(nullptr, 0, 1'000'000); });
  CHECK(becomes(child, Activity::idling));
}

TEST_CASE("a process that waits for another's file lock is seen as idling") {
  std::array<char, 32> path{"/tmp/safelaunch-lock-XXXXXX"};
  const int held = ::mkostemp(path.data(), O_CLOEXEC);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  Child child([&] { ::flock(::open(path.data(), O_RDWR | O_CLOEXEC), LOCK_EX); });

  CHECK(becomes(child, Activity::idling));
  ::close(held);
  ::unlink(path.data());
}

TEST_CASE("a process that computes is seen as working") {
  Child child([] {
    for (volatile bool busy = true; busy;) {
    }
  });
  CHECK(becomes(child, Activity::working));
}

TEST_CASE("a process that copies data is seen as working, also if a child does it") {
  Child child([] {
    if (::fork() != 0) wait_for_ever(0);
    const int source = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (std::array<char, 4096> block{}; ::read(source, block.data(), block.size()) > 0;)
      ::usleep(1000);
  });
  CHECK(becomes(child, Activity::working));
}

TEST_CASE("a stopped process is seen as stopped") {
  Child child([] { ::pause(); });
  ::kill(child.pid(), SIGSTOP);
  CHECK(becomes(child, Activity::stopped));
}

TEST_CASE("an ended process is seen as dead") {
  Child child([] {});
  CHECK(becomes(child, Activity::dead));
}
