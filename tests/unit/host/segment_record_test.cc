#include "safelaunch/host/left_files.h"

#include <unistd.h>

#include "catch.h"
#include "safelaunch/host/identity.h"
#include "unit/host/left_folder.h"

using namespace safelaunch;

using namespace safelaunch::host;
using safelaunch::testing::LeftFolder;

namespace {

LeftFile segment(const std::string& path) {
  LeftFile file;
  file.path = path;
  file.device = 26;
  file.inode = 4711;
  file.made = 1'700'000'000'123'456'789;
  return file;
}

std::string mark_of(ProcessId owner, const HostIdentity& host) {
  return to_string({host.boot_id, host.pid_namespace, owner, 1, {}});
}

const ProcessId kDead{self().pid, self().start_ticks + 1};  // another one has its pid

}  // namespace

TEST_CASE("what a run records of its segments is read again", "[segment_record]") {
  const HostIdentity host = read_identity();
  const std::vector<LeftFile> made{segment("/dev/shm/nccl-abcdef"),
                                   segment("/dev/shm/torch_7_1_0")};
  const auto records =
      parse_segment_lines(segment_lines(made, mark_of(kDead, host)), "run-1", host);
  REQUIRE(records.size() == 2);
  for (std::size_t i = 0; i < made.size(); ++i) {
    CHECK(is_of(records[i], made[i]));
    CHECK(records[i].run == "run-1");
    CHECK(records[i].owner == Life::ended);
  }
}

TEST_CASE("a record tells whether its run is over, where that is to be seen", "[segment_record]") {
  const HostIdentity host = read_identity();
  const std::vector<LeftFile> made{segment("/dev/shm/nccl-abcdef")};
  const auto life = [&](const std::string& mark) {
    const auto records = parse_segment_lines(segment_lines(made, mark), "run-1", host);
    return records.empty() ? std::nullopt : std::optional(records[0].owner);
  };
  CHECK(life(mark_of(self(), host)) == Life::running);
  HostIdentity container = host;
  container.pid_namespace += 1;
  CHECK(life(mark_of(kDead, container)) == Life::hidden);
  HostIdentity before = host;
  before.boot_id = "another boot";
  CHECK(life(mark_of(kDead, before)) == std::nullopt);
  CHECK(life("no mark") == std::nullopt);
}

TEST_CASE("records that are cut off or somebody else's words are passed over", "[segment_record]") {
  const HostIdentity host = read_identity();
  CHECK(parse_segment_lines("\n1 2\n1 2 3 4 5\n", "run-1", host).empty());
}

TEST_CASE("the records of all runs in all places are read, through links of ours too",
          "[segment_record]") {
  const HostIdentity host = read_identity();
  const LeftFolder usual;
  const LeftFolder elsewhere;
  const std::vector<LeftFile> first{segment("/dev/shm/nccl-aaaaaa")};
  const std::vector<LeftFile> second{segment("/dev/shm/nccl-bbbbbb")};
  usual.add(std::string("run-1/") + kSegmentRecordFile, segment_lines(first, mark_of(kDead, host)));
  elsewhere.add(kSegmentRecordFile, segment_lines(second, mark_of(kDead, host)));
  std::filesystem::create_directory_symlink(elsewhere.path(), usual.path() + "/run-2");
  const std::vector<std::filesystem::path> places{usual.path(), "/nonexistent", ""};
  const auto records = read_segment_records(places, host);
  REQUIRE(records.size() == 2);
  CHECK(records[0].run != records[1].run);
}

TEST_CASE("a record that is a link is no record", "[segment_record]") {
  const HostIdentity host = read_identity();
  const LeftFolder place;
  const std::vector<LeftFile> made{segment("/dev/shm/nccl-aaaaaa")};
  const std::string target = place.add("elsewhere", segment_lines(made, mark_of(kDead, host)));
  std::filesystem::create_directory(place.path() + "/run-1");
  std::filesystem::create_symlink(target, place.path() + "/run-1/" + kSegmentRecordFile);
  const std::vector<std::filesystem::path> places{place.path()};
  CHECK(read_segment_records(places, host).empty());
}
