#include "safelaunch/host/mounts.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;

namespace {

constexpr const char* kTable =
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
    "28 27 0:25 / /home rw - nfs4 server:/export rw,vers=4.2\n"
    "29 27 0:26 /a\\040b /mnt/a\\040b rw shared:1 - tmpfs none rw,size=4k\n"
    "nonsense\n";

}  // namespace

TEST_CASE("mounts are read from the kernel's table", "[mounts]") {
  const auto mounts = parse_mounts(kTable);
  REQUIRE(mounts.size() == 3);
  CHECK(mounts[0] == Mount{"/", "/", "ext4", "/dev/vda", "rw,discard"});
  CHECK(mounts[2] == Mount{"/a b", "/mnt/a b", "tmpfs", "none", "rw,size=4k"});
}

TEST_CASE("a path belongs to the deepest mount above it", "[mounts]") {
  const auto mounts = parse_mounts(kTable);
  CHECK(mount_of(mounts, "/home/a/.cache")->type == "nfs4");
  CHECK(mount_of(mounts, "/home")->type == "nfs4");
  CHECK(mount_of(mounts, "/homeless")->type == "ext4");
  CHECK(mount_of({}, "/home") == nullptr);
}

TEST_CASE("of two mounts on one point the later one counts", "[mounts]") {
  const std::vector<Mount> mounts{{"/", "/dev/shm", "tmpfs", "old", ""},
                                  {"/", "/dev/shm", "tmpfs", "new", ""}};
  CHECK(mount_of(mounts, "/dev/shm/x")->source == "new");
}

TEST_CASE("other hosts may hold files of network and FUSE file systems", "[mounts]") {
  for (const char* type : {"nfs4", "lustre", "fuse.s3fs", "fuse", "9p"})
    CHECK(is_network({"/", "/x", type, "", ""}));
  for (const char* type : {"ext4", "overlay", "tmpfs", "xfs"})
    CHECK_FALSE(is_network({"/", "/x", type, "", ""}));
}

TEST_CASE("this host has a root", "[mounts]") {
  const auto mounts = read_mounts();
  REQUIRE(mount_of(mounts, "/") != nullptr);
  CHECK(mount_of(mounts, "/")->point == "/");
}
