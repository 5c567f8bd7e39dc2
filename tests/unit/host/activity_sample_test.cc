#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include <array>

#include "catch.h"
#include "child.h"
#include "safelaunch/host/activity.h"

using namespace safelaunch;

using namespace safelaunch::host;
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

TEST_CASE("a process that waits for a server's answer is seen as idling") {
  Child child([] {
    std::array<int, 2> pair{};
    static_cast<void>(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()));
    wait_for_ever(pair[0]);
  });
  CHECK(becomes(child, Activity::idling));
}

TEST_CASE("a process that polls without a timeout is seen as idling") {
  Child child([] { ::poll(nullptr, 0, -1); });
  CHECK(becomes(child, Activity::idling));
}

TEST_CASE("a process that reads a pipe which only itself and its children have is seen as quiet") {
  Child child([] {
    std::array<int, 2> own{};
    static_cast<void>(::pipe(own.data()));
    static_cast<void>(::fork());
    wait_for_ever(own[0]);
  });
  CHECK(becomes(child, Activity::quiet));
}

TEST_CASE("a process that reads a pipe into which another may write is seen as idling") {
  std::array<int, 2> shared{};
  REQUIRE(::pipe(shared.data()) == 0);
  Child child([&] { wait_for_ever(shared[0]); });
  CHECK(becomes(child, Activity::idling));
  ::close(shared[0]);
  ::close(shared[1]);
}

TEST_CASE("a process that reads the pipe which is our standard input waits for a request") {
  std::array<int, 2> input{};
  REQUIRE(::pipe(input.data()) == 0);
  Child child([&] { wait_for_ever(input[0]); });
  const auto awaits_input = [&] {
    const auto sample = sample_tree(child.id(), Clock::now(), Procfs());
    return classify(sample, sample).awaits_input;
  };
  const int former = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  REQUIRE(becomes(child, Activity::idling));
  CHECK_FALSE(awaits_input());
  ::dup2(input[0], STDIN_FILENO);
  CHECK(awaits_input());
  ::dup2(former, STDIN_FILENO);
  for (const int fd : {former, input[0], input[1]}) ::close(fd);
}

TEST_CASE("a process that waits at a terminal is seen as attended") {
  const int screen = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(screen >= 0);
  REQUIRE((::grantpt(screen) == 0 && ::unlockpt(screen) == 0));
  const int keyboard = ::open(::ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(keyboard >= 0);
  const bool by_epoll = GENERATE(false, true);
  CAPTURE(by_epoll);
  Child child([&] {
    if (!by_epoll) wait_for_ever(keyboard);
    const int set = ::epoll_create1(0);
    epoll_event wanted{EPOLLIN, {}};
    ::epoll_ctl(set, EPOLL_CTL_ADD, keyboard, &wanted);
    ::epoll_wait(set, &wanted, 1, -1);
  });
  CHECK(becomes(child, Activity::attended));
  ::close(keyboard);
  ::close(screen);
}

TEST_CASE("a process that a debugger holds is seen as attended, one that strace watches is not") {
  const bool held = GENERATE(true, false);
  std::array<int, 2> never{};
  REQUIRE(::pipe(never.data()) == 0);
  Child child([&] {
    const int traced = ::fork();
    if (traced == 0) wait_for_ever(never[0]);
    ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr);
    if (held) ::ptrace(PTRACE_INTERRUPT, traced, nullptr, nullptr);
    wait_for_ever(never[0]);
  });
  CHECK(becomes(child, held ? Activity::attended : Activity::idling));
  for (const int end : never) ::close(end);
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
