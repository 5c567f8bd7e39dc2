#include "safelaunch/host/left_files.h"

#include <unistd.h>

#include "catch.h"
#include "safelaunch/base/format.h"
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
  const std::vector<std::filesystem::path> places{usual.path(), "/proc/nonexistent", ""};
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

TEST_CASE("a record is about the very file, by all that tells files apart", "[segment_record]") {
  const LeftFile file = segment("/dev/shm/nccl-abcdef");
  const SegmentRecord record{file.path, file.device, file.inode, file.made, "run-1", Life::ended};
  CHECK(is_of(record, file));
  std::vector<LeftFile> others(4, file);
  others[0].path += "g";
  others[1].device += 1;
  others[2].inode += 1;
  others[3].made += 1;
  for (const LeftFile& other : others) CHECK_FALSE(is_of(record, other));
}

TEST_CASE("a path with blanks is recorded whole", "[segment_record]") {
  const HostIdentity host = read_identity();
  const std::vector<LeftFile> made{segment("/dev/shm/sgl_a b  c")};
  const auto records =
      parse_segment_lines(segment_lines(made, mark_of(kDead, host)), "run-1", host);
  REQUIRE(records.size() == 1);
  CHECK(records[0].path == "/dev/shm/sgl_a b  c");
}

TEST_CASE("a file's name cannot write a record of another file", "[segment_record]") {
  const HostIdentity host = read_identity();
  const std::string forged = fmt::format("26 4711 5 {} /dev/shm/nccl-victim", mark_of(kDead, host));
  const std::vector<LeftFile> made{segment("/dev/shm/sgl_\n" + forged)};
  CHECK(parse_segment_lines(segment_lines(made, mark_of(kDead, host)), "run-1", host).empty());
}

TEST_CASE("a record that is torn is no record of the file", "[segment_record]") {
  const HostIdentity host = read_identity();
  const std::vector<LeftFile> made{segment("/dev/shm/nccl-abcdef")};
  const std::string line = segment_lines(made, mark_of(kDead, host));
  for (std::size_t size = 0; size + 1 < line.size(); ++size)
    for (const SegmentRecord& record : parse_segment_lines(line.substr(0, size), "run-1", host))
      CHECK_FALSE(is_of(record, made[0]));
}

TEST_CASE("the line of a run that is over speaks beside those of other boots", "[segment_record]") {
  const HostIdentity host = read_identity();
  HostIdentity before = host;
  before.boot_id = "another boot";
  const std::vector<LeftFile> made{segment("/dev/shm/nccl-abcdef")};
  const std::string text = "nonsense\n" + segment_lines(made, mark_of(kDead, before)) +
                           segment_lines(made, mark_of(kDead, host)) + "1 2";
  CHECK(parse_segment_lines(text, "run-1", host).size() == 1);
}

TEST_CASE("a record in a stranger's run directory is not read", "[segment_record]") {
  if (::geteuid() != 0) return;  // only root can give a folder away
  const HostIdentity host = read_identity();
  const LeftFolder place;
  const std::vector<LeftFile> made{segment("/dev/shm/nccl-aaaaaa")};
  const std::string record = place.add(std::string("run-1/") + kSegmentRecordFile,
                                       segment_lines(made, mark_of(kDead, host)));
  const std::vector<std::filesystem::path> places{place.path()};
  REQUIRE(read_segment_records(places, host).size() == 1);
  for (const std::string& foreign : {record, place.path() + "/run-1", place.path()}) {
    REQUIRE(::chown(foreign.c_str(), 1001, 1001) == 0);
    CHECK(read_segment_records(places, host).empty());
    REQUIRE(::chown(foreign.c_str(), 0, 0) == 0);
  }
}
