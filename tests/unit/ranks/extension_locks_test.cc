#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/ranks/extension_locks.h"
#include "unit/host/left_folder.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using safelaunch::testing::LeftFolder;

namespace {

/// A job whose extensions are built in a folder of the test's.
struct Building {
  LeftFolder folder;
  Environment environment{{"TORCH_EXTENSIONS_DIR", folder.path()}};

  [[nodiscard]] WaitedLocks locks(settings::CleanPolicy policy = settings::CleanPolicy::ours,
                                  BuildWait wait = BuildWait::until_the_lock_is_gone) const {
    return find_waited_locks(environment, policy, wait);
  }
};

/// A lock of ours that nobody uses.
clean::StaleFile left_at(const std::string& path) {
  clean::StaleFile stale;
  stale.file = host::file_at(path).value();
  stale.claim = clean::Claim::ours;
  stale.why = "written 3h ago, and nobody has it open";
  return stale;
}

}  // namespace

TEST_CASE("where no extension is being built nobody waits for one", "[extension_locks]") {
  const Building job;
  CHECK(job.locks().words.empty());
  constexpr auto kWait = BuildWait::until_the_lock_is_gone;
  CHECK(
      find_waited_locks({{"TORCH_EXTENSIONS_DIR", "/proc/nonexistent"}}, {}, kWait).words.empty());
  CHECK(find_waited_locks({}, {}, kWait).words.empty());
  job.folder.add("cpu_adam/build.ninja");
  CHECK(job.locks().words.empty());
}

TEST_CASE("a lock that was just made is told with its age, and is not for us to remove",
          "[extension_locks]") {
  const Building job;
  const std::string lock = job.folder.add("cpu_adam/lock");
  const WaitedLocks found = job.locks(settings::CleanPolicy::all_mine);
  CHECK(found.words.starts_with("the lock of an extension's build: " + lock + " ("));
  CHECK(found.words.find(" old") != std::string::npos);
  CHECK(found.words.find("has it open") == std::string::npos);
  CHECK(found.left.empty());
}

TEST_CASE("a lock that a build holds is told to be held", "[extension_locks]") {
  const Building job;
  const std::string lock = job.folder.add("cpu_adam/lock");
  const std::ofstream builder(lock);
  CHECK(job.locks().words.find("old, somebody has it open)") != std::string::npos);
}

TEST_CASE("who waits until a lock is free waits for those that a process holds, which are told",
          "[extension_locks]") {
  const Building job;
  const std::string left = job.folder.add("cpu_adam/lock");
  const std::string held = job.folder.add("fused_adam/lock");
  const UniqueFd builder(::open(held.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(builder.get(), LOCK_EX) == 0);
  const WaitedLocks found =
      job.locks(settings::CleanPolicy::all_mine, BuildWait::until_the_lock_is_free);
  CHECK(found.words.find(left) == std::string::npos);
  CHECK(found.words.find(fmt::format("held by pid {} (", ::getpid())) != std::string::npos);
  CHECK(found.left.empty());
}

TEST_CASE("the locks of several extensions, at both depths, are told together",
          "[extension_locks]") {
  const Building job;
  const std::string shallow = job.folder.add("cpu_adam/lock");
  const std::string deep = job.folder.add("py311_cu121/fused_lamb/lock");
  const std::string words = job.locks().words;
  CHECK(words.find(shallow) != std::string::npos);
  CHECK(words.find(deep) != std::string::npos);
  CHECK(words.find("), ") != std::string::npos);
}

TEST_CASE("a lock that may go is removed, and a build that was cut off is told",
          "[extension_locks]") {
  const Building job;
  const std::string lock = job.folder.add("cpu_adam/lock");
  const auto [lines, cut_off] = remove_waited_locks({left_at(lock)}, settings::CleanPolicy::ours);
  CHECK(cut_off == lock);
  REQUIRE(lines.size() == 2);
  CHECK(lines.front().find(lock) != std::string::npos);
  CHECK(lines.back() == "the build behind " + lock +
                            " was cut off before it made a library. A rank that waited for it may "
                            "fail with ImportError; the next start builds it");
  CHECK_FALSE(host::file_at(lock));
}

TEST_CASE("of a build that has left its library the lock alone is told", "[extension_locks]") {
  const Building job;
  const std::string lock = job.folder.add("cpu_adam/lock");
  job.folder.add("cpu_adam/cpu_adam.so");
  const RemovedLocks done = remove_waited_locks({left_at(lock)}, settings::CleanPolicy::ours);
  CHECK(done.lines.size() == 1);
  CHECK(done.cut_off.empty());
}

TEST_CASE("a lock that the policy does not give us stays, and its build is not judged",
          "[extension_locks]") {
  const Building job;
  const std::string lock = job.folder.add("cpu_adam/lock");
  CHECK(remove_waited_locks({left_at(lock)}, settings::CleanPolicy::off).lines.size() == 1);
  CHECK(host::file_at(lock));
  CHECK(remove_waited_locks({}, settings::CleanPolicy::ours).lines.empty());
}

TEST_CASE("a lock that somebody has taken meanwhile stays", "[extension_locks]") {
  const Building job;
  const std::string lock = job.folder.add("cpu_adam/lock");
  const clean::StaleFile seen = left_at(lock);
  const std::ofstream builder(lock);
  CHECK(remove_waited_locks({seen}, settings::CleanPolicy::ours).lines.size() == 1);
  CHECK(host::file_at(lock));
}

TEST_CASE("a build that was cut off is told from one that has left its library",
          "[extension_locks]") {
  const LeftFolder folder;
  const std::string lock = folder.add("cpu_adam/lock");
  folder.add("cpu_adam/build.ninja");
  folder.add("cpu_adam/cpu_adam.o");
  CHECK_FALSE(has_built_extension(lock));
  folder.add("cpu_adam/cpu_adam.so");
  CHECK(has_built_extension(lock));
}

TEST_CASE("a rank in torch's lock waits for a build", "[extension_locks]") {
  RankAnswers answers;
  answers.stacks[Rank{0}].frames = "  train.py:4 load\n";
  CHECK(waits_for_a_build(answers) == BuildWait::none);
  answers.stacks[Rank{1}].frames = "  torch/utils/file_baton.py:42 wait\n";
  CHECK(waits_for_a_build(answers) == BuildWait::until_the_lock_is_gone);
}

TEST_CASE("a rank in the kernel's lock waits for a build where it builds an extension",
          "[extension_locks]") {
  RankAnswers answers;
  answers.stacks[Rank{0}].frames = "  torch/utils/_filelock.py:28 __enter__\n";
  CHECK(waits_for_a_build(answers) == BuildWait::none);
  answers.stacks[Rank{0}].frames =
      "  torch/utils/cpp_extension.py:2362 _jit_compile\n"
      "  torch/utils/_filelock.py:28 __enter__\n";
  CHECK(waits_for_a_build(answers) == BuildWait::until_the_lock_is_free);
}
