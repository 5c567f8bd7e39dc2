#include "safelaunch/clean/stale_file.h"

#include <filesystem>
#include <fstream>

#include "catch.h"
#include "unit/host/left_folder.h"

using namespace safelaunch;

using namespace safelaunch::clean;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::LeftFolder;
namespace fs = std::filesystem;

namespace {

constexpr unsigned kUs = 1000;
constexpr Duration kHour = std::chrono::hours(1);

host::LeftFile file(const std::string& path, Duration age = kHour, unsigned uid = kUs) {
  host::LeftFile left;
  left.path = path;
  left.uid = uid;
  left.folder_uid = kUs;
  left.age = age;
  return left;
}

FileWitness witness() {
  FileWitness seen;
  seen.uid = kUs;
  seen.sees_all_processes = true;
  return seen;
}

std::vector<StaleFile> segments(const host::LeftFile& one, const FileWitness& seen,
                                const std::vector<host::SegmentRecord>& records) {
  return stale_segments(std::vector{one}, seen, records);
}

host::SegmentRecord record_of(const host::LeftFile& file, host::Life owner = host::Life::ended) {
  return {file.path, file.device, file.inode, file.made, "20261122-1", owner};
}

/// As if a run that is over had recorded it.
std::vector<StaleFile> segments(const host::LeftFile& one, const FileWitness& seen) {
  return segments(one, seen, {record_of(one)});
}

const std::vector<host::Mount> kLocal{{"/", "/", "ext4", "/dev/sda1", ""}};

std::vector<StaleFile> locks(const host::LeftFile& one, const FileWitness& seen,
                             const std::vector<host::Mount>& mounts = kLocal) {
  return stale_locks(std::vector{one}, seen, mounts);
}

const host::LeftFile kSegment = file("/dev/shm/nccl-abcdef");
const host::LeftFile kLock = file("/home/a/.cache/torch_extensions/x/lock");

}  // namespace

TEST_CASE("an old segment that a run has recorded may be removed once the run is over",
          "[stale_file]") {
  const auto stale = segments(kSegment, witness());
  REQUIRE(stale.size() == 1);
  CHECK(stale[0].claim == Claim::ours);
  CHECK_THAT(stale[0].why, ContainsSubstring("left by safelaunch run 20261122-1"));
  CHECK(segments(kSegment, witness(), {record_of(kSegment, host::Life::running)}).empty());
  const auto hidden = segments(kSegment, witness(), {record_of(kSegment, host::Life::hidden)});
  CHECK(hidden.at(0).claim == Claim::named);
}

TEST_CASE("a segment that no run has recorded may be another container's: it is listed",
          "[stale_file]") {
  for (const auto* path : {"/dev/shm/nccl-abcdef", "/dev/shm/torch_71_2_0", "/dev/shm/psm_12ab34cd",
                           "/dev/shm/sem.mp-abcdefgh"}) {
    const auto stale = segments(file(path), witness(), {});
    REQUIRE(stale.size() == 1);
    CHECK(stale[0].claim == Claim::named);
    CHECK_THAT(stale[0].why, ContainsSubstring("no run of safelaunch has recorded it") &&
                                 ContainsSubstring("`safelaunch clean --all-mine`"));
  }
}

TEST_CASE("a record speaks for the very file, not for one that got its name or its inode",
          "[stale_file]") {
  host::LeftFile recorded = kSegment;
  recorded.device = 5;
  recorded.inode = 7;
  recorded.made = 9;
  const std::vector<host::SegmentRecord> records{record_of(recorded)};
  CHECK(segments(recorded, witness(), records)[0].claim == Claim::ours);
  for (const auto change : {0, 1, 2, 3}) {
    host::LeftFile other = recorded;
    if (change == 0) other.device = 6;
    if (change == 1) other.inode = 8;
    if (change == 2) other.made = 10;
    if (change == 3) other.path = "/dev/shm/nccl-ghijkl";
    CHECK(segments(other, witness(), records)[0].claim == Claim::named);
  }
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

TEST_CASE(
    "a segment of Python's, which is opened by its name, is listed only where somebody may know "
    "it",
    "[stale_file]") {
  const host::LeftFile pythons = file("/dev/shm/psm_12ab34cd");
  CHECK(segments(pythons, witness())[0].claim == Claim::ours);
  FileWitness inside = witness();
  inside.sees_all_processes = false;
  CHECK(segments(pythons, inside)[0].claim == Claim::named);
  CHECK(segments(kSegment, inside)[0].claim == Claim::ours);
  FileWitness blind = witness();
  blind.use.unreadable = 1;
  CHECK(segments(pythons, blind)[0].claim == Claim::named);
  FileWitness busy = witness();
  busy.use.oldest_python = 2 * kHour;
  CHECK_THAT(segments(pythons, busy)[0].why, ContainsSubstring("may know its name"));
  CHECK(segments(pythons, busy)[0].claim == Claim::named);
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
  const std::vector<host::Mount> shared{{"/", "/", "ext4", "x", ""},
                                        {"/", "/home", "nfs4", "s:/", ""}};
  CHECK_THAT(locks(kLock, witness(), shared)[0].why, ContainsSubstring("network file system"));
}

TEST_CASE("a lock is listed only, while a compiler of ours runs", "[stale_file]") {
  FileWitness seen = witness();
  seen.use.compiler = "cc1plus (pid 1932)";
  CHECK(locks(kLock, seen)[0].claim == Claim::unproven);
  CHECK(locks(kLock, seen)[0].why ==
        "made 1h ago; your compiler cc1plus (pid 1932) may be building it");
}

TEST_CASE("what the kernel does not tell is listed only", "[stale_file]") {
  FileWitness seen = witness();
  seen.use.untold = {kLock.path, kSegment.path};
  CHECK(locks(kLock, seen)[0].claim == Claim::unproven);
  CHECK_THAT(segments(kSegment, seen)[0].why, ContainsSubstring("kernel does not tell"));
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
  const StaleFile seen{host::read_shared_memory(folder.path()).files.at(0), Claim::ours, ""};

  fs::rename(path, path + ".kept");  // its inode stays in use, so a new file gets another
  folder.add("nccl-abcdef", "x");
  CHECK_THAT(remove_stale(seen).error().message,
             ContainsSubstring("another file has its name by now"));
  CHECK(fs::exists(path));

  fs::rename(path + ".kept", path);
  CHECK(remove_stale(seen).has_value());
  CHECK_FALSE(fs::exists(path));
  CHECK(remove_stale(seen).error().message == "was gone already");
}

TEST_CASE("a file that somebody has opened meanwhile is not removed", "[stale_file]") {
  LeftFolder folder;
  const std::string path = folder.add("nccl-abcdef", "x");
  const StaleFile seen{host::read_shared_memory(folder.path()).files.at(0), Claim::ours, ""};
  {
    const std::ifstream held(path);
    CHECK_THAT(remove_stale(seen).error().message, ContainsSubstring("opened"));
  }
  CHECK(fs::exists(path));
}

TEST_CASE("a file that was written to since it was seen is not removed", "[stale_file]") {
  LeftFolder folder;
  const std::string path = folder.add("nccl-abcdef", "x");
  StaleFile seen{host::read_shared_memory(folder.path()).files.at(0), Claim::ours, ""};
  seen.file.written -= 1;
  CHECK(remove_stale(seen).error().message == "left alone: a process wrote to it just now");
  CHECK(fs::exists(path));
}

TEST_CASE("a link that took the name of a file is not followed, and not removed", "[stale_file]") {
  LeftFolder folder;
  const std::string path = folder.add("nccl-abcdef", "x");
  const StaleFile seen{host::read_shared_memory(folder.path()).files.at(0), Claim::ours, ""};
  fs::rename(path, path + ".kept");
  fs::create_symlink(path + ".kept", path);  // it leads to the very file
  CHECK_THAT(remove_stale(seen).error().message,
             ContainsSubstring("another file has its name by now"));
  CHECK((fs::is_symlink(path) && fs::exists(path + ".kept")));
}

TEST_CASE("a server's segment is never claimed, though a run has recorded it", "[stale_file]") {
  const host::LeftFile servers = file("/dev/shm/vllm_cache");
  CHECK(segments(servers, witness()).at(0).claim == Claim::unproven);
}

TEST_CASE("a file is settled at ten minutes, and not before", "[stale_file]") {
  CHECK(segments(file(kSegment.path, kFileSettled), witness()).size() == 1);
  CHECK(segments(file(kSegment.path, kFileSettled - Duration{1}), witness()).empty());
  CHECK(locks(file(kLock.path, kFileSettled), witness()).size() == 1);
  CHECK(locks(file(kLock.path, kFileSettled - Duration{1}), witness()).empty());
}

TEST_CASE("a lock on no mount that we know, or beside a process that we cannot see, is listed",
          "[stale_file]") {
  CHECK(locks(kLock, witness(), {}).at(0).claim == Claim::unproven);
  FileWitness blind = witness();
  blind.use.unreadable = 2;
  CHECK(locks(kLock, blind).at(0).why == "2 processes of yours cannot be looked into");
  CHECK(locks(kLock, blind).at(0).claim == Claim::unproven);
}

TEST_CASE("a lock in the folder of another user is told, and is not ours to remove",
          "[stale_file]") {
  host::LeftFile lock = kLock;
  lock.folder_uid = kUs + 1;
  const auto found = locks(lock, witness());
  REQUIRE(found.size() == 1);
  CHECK(found[0].claim == Claim::unproven);
  CHECK(found[0].why == "its folder belongs to another user");
}

TEST_CASE("a lock is removed from the folder that was seen, wherever its path leads by then",
          "[stale_file]") {
  const LeftFolder folder;
  const std::string path = folder.add("ext/lock");
  folder.add("app/other");
  const auto seen = host::extension_locks(folder.path());
  REQUIRE(seen.size() == 1);
  fs::create_hard_link(path, folder.path() + "/app/lock");
  fs::rename(folder.path() + "/ext", folder.path() + "/ext-away");
  fs::create_directory_symlink("app", folder.path() + "/ext");
  CHECK(remove_stale({seen[0], Claim::ours, ""}).has_value());
  CHECK(fs::exists(folder.path() + "/app/lock"));
  CHECK_FALSE(fs::exists(folder.path() + "/ext-away/lock"));
}
