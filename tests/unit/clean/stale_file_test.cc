#include "safelaunch/clean/stale_file.h"

#include <filesystem>
#include <fstream>

#include "catch.h"
#include "unit/host/left_folder.h"

using namespace safelaunch;
using Catch::Matchers::Contains;
using safelaunch::testing::LeftFolder;
namespace fs = std::filesystem;

namespace {

constexpr unsigned kUs = 1000;
constexpr Duration kHour = std::chrono::hours(1);

LeftFile file(const std::string& path, Duration age = kHour, unsigned uid = kUs) {
  LeftFile left;
  left.path = path;
  left.uid = uid;
  left.age = age;
  return left;
}

FileWitness witness() {
  FileWitness seen;
  seen.uid = kUs;
  seen.sees_all_processes = true;
  return seen;
}

std::vector<StaleFile> segments(const LeftFile& one, const FileWitness& seen) {
  return stale_segments(std::vector{one}, seen);
}

const std::vector<Mount> kLocal{{"/", "/", "ext4", "/dev/sda1", ""}};

std::vector<StaleFile> locks(const LeftFile& one, const FileWitness& seen,
                             const std::vector<Mount>& mounts = kLocal) {
  return stale_locks(std::vector{one}, seen, mounts);
}

const LeftFile kSegment = file("/dev/shm/nccl-abcdef");
const LeftFile kLock = file("/home/a/.cache/torch_extensions/x/lock");

}  // namespace

TEST_CASE("an old segment of ours that nobody maps may be removed", "[stale_file]") {
  const auto stale = segments(kSegment, witness());
  REQUIRE(stale.size() == 1);
  CHECK(stale[0].claim == Claim::ours);
}

TEST_CASE("segments of others, of nobody we know, young and used ones are no business of ours",
          "[stale_file]") {
  CHECK(segments(file("/dev/shm/nccl-abcdef", kHour, 1001), witness()).empty());
  CHECK(segments(file("/dev/shm/pulse-shm-1"), witness()).empty());
  CHECK(segments(file("/dev/shm/nccl-abcdef", Duration{60'000}), witness()).empty());
  FileWitness seen = witness();
  seen.use.used = {"/dev/shm/nccl-abcdef"};
  CHECK(segments(kSegment, seen).empty());
}

TEST_CASE("a segment is listed only, where somebody unseen may want it", "[stale_file]") {
  FileWitness inside = witness();
  inside.sees_all_processes = false;
  CHECK(segments(kSegment, inside)[0].claim == Claim::unproven);
  FileWitness blind = witness();
  blind.use.unreadable = 1;
  CHECK(segments(kSegment, blind)[0].claim == Claim::unproven);
  FileWitness busy = witness();
  busy.use.oldest_python = 2 * kHour;
  CHECK_THAT(segments(kSegment, busy)[0].why, Contains("may know its name"));
  CHECK(segments(kSegment, busy)[0].claim == Claim::unproven);
}

TEST_CASE("an old lock in whose folder nobody works may be removed", "[stale_file]") {
  CHECK(locks(kLock, witness())[0].claim == Claim::ours);
}

TEST_CASE("a lock is in use while its build may run", "[stale_file]") {
  CHECK(locks(file(kLock.path, Duration{60'000}), witness()).empty());
  FileWitness seen = witness();
  seen.use.used = {kLock.path};
  CHECK(locks(kLock, seen).empty());
}

TEST_CASE("a lock is listed only, where its holder may be elsewhere", "[stale_file]") {
  CHECK(locks(file(kLock.path, kHour, 1001), witness())[0].claim == Claim::unproven);
  const std::vector<Mount> shared{{"/", "/", "ext4", "x", ""}, {"/", "/home", "nfs4", "s:/", ""}};
  CHECK_THAT(locks(kLock, witness(), shared)[0].why, Contains("network file system"));
}

TEST_CASE("a lock is listed only, while a compiler of ours runs", "[stale_file]") {
  FileWitness seen = witness();
  seen.use.compilers = 1;
  CHECK(locks(kLock, seen)[0].claim == Claim::unproven);
}

TEST_CASE("what the kernel does not tell is listed only", "[stale_file]") {
  FileWitness seen = witness();
  seen.use.untold = {kLock.path, kSegment.path};
  CHECK(locks(kLock, seen)[0].claim == Claim::unproven);
  CHECK_THAT(segments(kSegment, seen)[0].why, Contains("kernel does not tell"));
  CHECK(segments(kSegment, seen)[0].claim == Claim::unproven);
}

TEST_CASE("a lock that nobody holds is nobody's in all containers", "[stale_file]") {
  FileWitness inside = witness();
  inside.sees_all_processes = false;
  CHECK(locks(kLock, inside)[0].claim == Claim::ours);
}

TEST_CASE("only the very file that was looked at is removed", "[stale_file]") {
  LeftFolder folder;
  const std::string path = folder.add("nccl-abcdef", "x");
  const StaleFile seen{read_shared_memory(folder.path()).files.at(0), Claim::ours, ""};

  fs::rename(path, path + ".kept");  // its inode stays in use, so a new file gets another
  folder.add("nccl-abcdef", "x");
  CHECK_THAT(remove_stale(seen).error().message, Contains("another file by now"));
  CHECK(fs::exists(path));

  fs::rename(path + ".kept", path);
  CHECK(remove_stale(seen).has_value());
  CHECK_FALSE(fs::exists(path));
  CHECK(remove_stale(seen).error().message == "was gone already");
}

TEST_CASE("a file that somebody has opened meanwhile is not removed", "[stale_file]") {
  LeftFolder folder;
  const std::string path = folder.add("nccl-abcdef", "x");
  const StaleFile seen{read_shared_memory(folder.path()).files.at(0), Claim::ours, ""};
  {
    const std::ifstream held(path);
    CHECK_THAT(remove_stale(seen).error().message, Contains("opened"));
  }
  CHECK(fs::exists(path));
}
