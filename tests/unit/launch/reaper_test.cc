#include "safelaunch/launch/reaper.h"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <map>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::launch;

namespace {

/// A child of this test that ends at once.
int child_that_ends_with(int code) {
  const int pid = ::fork();
  if (pid == 0) ::_exit(code);
  REQUIRE(pid > 0);
  return pid;
}

struct Reaping {
  boost::asio::io_context io;
  std::map<int, ExitStatus> orphans;
  std::map<int, ExitStatus> ends;
  Reaper reaper{io, [this](int pid, const ExitStatus& status) { orphans[pid] = status; }};
  std::vector<std::shared_ptr<Reaper::Awaited>> awaited;

  void await(int pid) {
    awaited.push_back(
        reaper.await({pid, 0}, [this, pid](const ExitStatus& status) { ends[pid] = status; }));
  }
  void run_until_childless() {
    bool childless = false;
    reaper.when_childless([&] { childless = true; });
    while (!childless) io.run_one();
  }
};

}  // namespace

TEST_CASE("a child that is awaited is told to whoever awaits it, and all others as orphans") {
  Reaping home;
  const int ours = child_that_ends_with(3);
  const int stray = child_that_ends_with(4);
  home.await(ours);
  home.run_until_childless();
  CHECK(home.ends == std::map<int, ExitStatus>{{ours, Exited{3}}});
  CHECK(home.orphans == std::map<int, ExitStatus>{{stray, Exited{4}}});
  CHECK(home.awaited.front()->ended);
}

TEST_CASE("many children that end at once are each told: the kernel's signals are not counted") {
  Reaping home;
  std::map<int, ExitStatus> expected;
  for (int code = 0; code < 40; ++code) {
    const int pid = child_that_ends_with(code);
    expected[pid] = Exited{code};
    home.await(pid);
  }
  home.run_until_childless();
  CHECK(home.ends == expected);
  CHECK(home.orphans.empty());
}

TEST_CASE("a child that nobody wants to hear of any more is reaped all the same") {
  Reaping home;
  const int pid = child_that_ends_with(5);
  home.await(pid);
  home.awaited.front()->on_exit = nullptr;
  home.run_until_childless();
  CHECK(home.ends.empty());
  CHECK(home.orphans.empty());
  CHECK(home.awaited.front()->ended);
}

TEST_CASE("whoever has no children hears so at once, through the io_context") {
  Reaping home;
  bool childless = false;
  home.reaper.when_childless([&] { childless = true; });
  CHECK_FALSE(childless);
  home.io.poll();
  CHECK(childless);
}

TEST_CASE("the question whether there are children can be taken back") {
  Reaping home;
  bool childless = false;
  home.reaper.when_childless([&] { childless = true; });
  home.reaper.when_childless(nullptr);
  home.io.poll();
  CHECK_FALSE(childless);
}

TEST_CASE("a pid that is used again is awaited anew") {
  Reaping home;
  const int pid = child_that_ends_with(6);
  bool former = false;
  home.awaited.push_back(home.reaper.await({pid, 1}, [&](const ExitStatus&) { former = true; }));
  home.await(pid);
  home.run_until_childless();
  CHECK_FALSE(former);
  CHECK(home.ends.at(pid) == ExitStatus(Exited{6}));
}

TEST_CASE("the orphans of a child become ours") {
  Reaping home;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const int parent = ::fork();
  if (parent == 0) {
    if (::fork() == 0) {
      char byte = 0;
      ::close(ends[1]);
      (void)!::read(ends[0], &byte, 1);  // until the test says so
      ::_exit(9);
    }
    ::_exit(0);
  }
  ::close(ends[0]);
  home.await(parent);
  while (home.ends.empty()) home.io.run_one();
  ::close(ends[1]);
  home.run_until_childless();
  REQUIRE(home.orphans.size() == 1);
  CHECK(home.orphans.begin()->second == ExitStatus(Exited{9}));
}
