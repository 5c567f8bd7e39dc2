#include "safelaunch/host/proc.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <vector>

#include "catch.h"
#include "no_more_files.h"
#include "program.h"
#include "safelaunch/launch/descendants.h"
#include "unit/host/child.h"

using namespace safelaunch;

using namespace safelaunch::launch;
using namespace safelaunch::testing;

namespace {

class FakeChildren final : public launch::ChildLister {
 public:
  explicit FakeChildren(std::map<int, std::vector<int>> children)
      : children_(std::move(children)) {}

  std::size_t children_of(int pid, std::span<launch::Descendant> out) override {
    std::size_t count = 0;
    for (const int child : children_[pid])
      if (count < out.size()) out[count++] = {child, pid};
    return count;
  }

  void kill(const launch::Descendant& victim, int root) {
    auto& adopted = children_[root];
    for (const int orphan : std::exchange(children_[victim.pid], {})) adopted.push_back(orphan);
    std::erase(children_[victim.parent], victim.pid);
  }

 private:
  std::map<int, std::vector<int>> children_;
};

std::vector<int> walk(launch::ChildLister& lister, std::span<launch::Descendant> room) {
  std::vector<int> seen;
  launch::for_each_descendant(lister, 1, room, [&](const launch::Descendant& found) {
    seen.push_back(found.pid);
    return true;
  });
  return seen;
}

constexpr std::string_view kForkedShell =
    "4711 (sh) R 4700 4711 4700 0 -1 4194368 31 0 0 0 0 0 0 0 20 0 1 0 5000 2600960 190 0";
constexpr std::string_view kExecutedShell =
    "4711 (sh) S 4700 4711 4700 0 -1 4194304 31 0 0 0 0 0 0 0 20 0 1 0 5000 2600960 190 0";

/// Executes a program that asks to be kept, once the process that looks at it sleeps.
[[noreturn]] void execute_when_watcher_sleeps(int watcher) {
  while (host::state_of(watcher) != 'S') continue;
  const char* environment[] = {"SAFELAUNCH_KEEP=1", nullptr};
  ::execle("/bin/sleep", "sleep", "60", nullptr, environment);
  ::_exit(127);
}

}  // namespace

TEST_CASE("a forked process that has executed nothing is about to, as long as it is young") {
  const auto forked = host::parse_proc_stat(kForkedShell);
  const auto executed = host::parse_proc_stat(kExecutedShell);
  REQUIRE(forked);
  REQUIRE(executed);
  const auto second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  CHECK(host::is_about_to_execute(*forked, 5000, Duration(200)));
  CHECK(host::is_about_to_execute(*forked, 5000 + second / 5, Duration(200)));
  CHECK_FALSE(host::is_about_to_execute(*forked, 5000 + second, Duration(200)));
  CHECK_FALSE(host::is_about_to_execute(*executed, 5000, Duration(200)));
}

TEST_CASE("a child that is about to execute what asks to be kept is spared") {
  const int self = ::getpid();
  const testing::Child child([self] { execute_when_watcher_sleeps(self); });
  host::ExecMoment moment{Duration(20'000), Duration(20'000)};  // a limit only
  CHECK(launch::is_spared({child.pid(), self}, moment));
}

TEST_CASE("a child that never executes anything is waited for no longer than the moment") {
  const testing::Child child([] { ::pause(); });
  host::ExecMoment moment{Duration(3), Duration(20'000)};
  CHECK_FALSE(launch::is_spared({child.pid(), ::getpid()}, moment));
  CHECK(moment.left == Duration(0));
  CHECK_FALSE(launch::is_spared({child.pid(), ::getpid()}, moment));
}

TEST_CASE("a walk visits everything below the root, parents before their children") {
  FakeChildren tree({{1, {2, 3}}, {2, {4}}, {4, {5}}, {9, {10}}});
  std::vector<launch::Descendant> room(16);
  CHECK(walk(tree, room) == std::vector{3, 2, 4, 5});
}

TEST_CASE("what does not fit into a walk's room is met by the next walk") {
  FakeChildren tree({{1, {2, 3, 4}}, {2, {5, 6, 7}}, {5, {8, 9}}});
  std::vector<launch::Descendant> room(2);
  int killed = 0;
  for (int walks = 0; walks < 5; ++walks)
    launch::for_each_descendant(tree, 1, room, [&](const launch::Descendant& found) {
      tree.kill(found, 1);
      ++killed;
      return true;
    });
  CHECK(killed == 8);
  CHECK(walk(tree, room).empty());
}

TEST_CASE("the kernel's list of children names each child with its parent") {
  Program program({"/bin/sh", "-c", victim("go_silent") + " & exec " + victim("go_silent")});
  const int one = program.number_after("ready");
  const int other = program.number_after("ready");
  const int grandchild = one == program.pid() ? other : one;
  launch::ProcChildren children;
  std::vector<launch::Descendant> found(8);
  REQUIRE(children.children_of(program.pid(), found) == 1);
  CHECK(found[0] == launch::Descendant{grandchild, program.pid()});
  ::kill(grandchild, SIGKILL);
  CHECK(becomes(grandchild, "Z"));  // or it would live in the next test's walk
}

TEST_CASE("a stranger who has got the pid of a descendant is not signalled") {
  Program stranger({victim("go_silent")});
  const int pid = stranger.number_after("ready");
  const int nobody = 1 << 22;  // above every pid
  CHECK(launch::signal_descendant({pid, nobody}, nobody, SIGKILL) == launch::Delivery::gone);
  CHECK(state_of(pid) != 'Z');
  CHECK(launch::signal_descendant({pid, ::getpid()}, nobody, SIGKILL) == launch::Delivery::sent);
  CHECK(stranger.wait() == ExitStatus{Signaled{SIGKILL, false}});
}

TEST_CASE("a process whose parent ends of the signal in the middle of a walk is asked, too") {
  // The parent is gone, and its children are ours, before they are listed.
  class EndsFirst final : public launch::ChildLister {
   public:
    std::size_t children_of(int pid, std::span<launch::Descendant> out) override {
      siginfo_t ended{};
      if (pid != ::getpid()) ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT);
      return children_.children_of(pid, out);
    }

   private:
    launch::ProcChildren children_;
  } children;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Program shell({"/bin/sh", "-c", victim("go_silent") + " & wait"});
  const int child = shell.number_after("ready");
  std::vector<int> asked;
  host::ExecMoment moment;
  (void)launch::ask_descendants(
      children, SIGTERM, moment,
      [&](const launch::Descendant& found) { asked.push_back(found.pid); },
      [](int) { return false; });
  CHECK(asked == std::vector<int>{shell.pid(), child});
}

TEST_CASE("a zombie has nothing left to signal") {
  Program program({victim("exit_with"), "0"});
  REQUIRE(becomes(program.pid(), "Z"));
  CHECK(launch::signal_descendant({program.pid(), ::getpid()}, ::getpid(), SIGTERM) ==
        launch::Delivery::gone);
}

TEST_CASE("a process whose main thread alone has ended is alive, and signalled") {
  testing::Child child([] { leave_to_another_thread(); });
  REQUIRE(becomes(child.pid(), "Z"));
  std::vector<launch::Descendant> alive(8);
  REQUIRE(launch::living_descendants(alive) == 1);
  CHECK(alive[0] == launch::Descendant{child.pid(), ::getpid()});
  CHECK(eventually([&] { return host::state_of(child.pid()) == 'S'; }));
  CHECK(launch::signal_descendant(alive[0], ::getpid(), SIGKILL) == launch::Delivery::sent);
  child.end();
  CHECK(launch::living_descendants(alive) == 0);
}

TEST_CASE("too many open files are no proof that a process is gone") {
  Program program({victim("go_silent")});
  const int pid = program.number_after("ready");
  const NoMoreFiles none;
  CHECK(launch::signal_descendant({pid, ::getpid()}, ::getpid(), SIGKILL) ==
        launch::Delivery::refused);
}

TEST_CASE("a setting is found in the environment that a process was started with, whole or not") {
  Program program({"/usr/bin/env", "-i", "A=1", "SAFELAUNCH_KEEP=1", "SAFELAUNCH_KEEPER=12",
                   victim("go_silent")});
  const int pid = program.number_after("ready");
  host::ExecMoment moment;
  CHECK(host::was_started_with(pid, "SAFELAUNCH_KEEP=1", moment));
  CHECK(host::was_started_with(pid, "SAFELAUNCH_KEEPER=12", moment));
  CHECK_FALSE(host::was_started_with(pid, "SAFELAUNCH_KEEPER=1", moment));
  CHECK_FALSE(host::was_started_with(pid, "KEEPER=12", moment));
  CHECK_FALSE(host::was_started_with(pid, "=1", moment));
}

TEST_CASE("what asks to be kept is neither signalled nor met, with what is below it") {
  Program kept({"/usr/bin/env", "SAFELAUNCH_KEEP=1", "/bin/sh", "-c",
                victim("go_silent") + " & exec env -i " + victim("go_silent")});
  const int one = kept.number_after("ready");
  const int other = kept.number_after("ready");
  const int child = one == kept.pid() ? other : one;
  // An exec with another environment takes the wish back: so the shell's child alone has it now.
  Program asks({"/usr/bin/env", "SAFELAUNCH_KEEP=1", victim("go_silent")});
  const int pid = asks.number_after("ready");
  host::ExecMoment moment;
  CHECK(launch::is_spared({pid, ::getpid()}, moment));
  CHECK_FALSE(launch::is_spared({kept.pid(), ::getpid()}, moment));
  const launch::Met met = launch::signal_descendants(0, moment);
  CHECK(met.alive == 1);
  CHECK(met.spared == 2);
  ::kill(child, SIGKILL);  // nothing else would end it
}
