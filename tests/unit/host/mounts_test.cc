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

TEST_CASE("optional fields of any number stand before the separator", "[mounts]") {
  const auto mounts = parse_mounts(
      "30 1 0:26 / /a rw - tmpfs none rw\n"
      "31 1 0:27 / /b rw shared:1 master:2 propagate_from:3 unbindable - ext4 /dev/sda1 rw,a=b\n");
  CHECK(mounts == std::vector<Mount>{{"/", "/a", "tmpfs", "none", "rw"},
                                     {"/", "/b", "ext4", "/dev/sda1", "rw,a=b"}});
}

TEST_CASE("escapes of the kernel are read in roots, points and sources", "[mounts]") {
  const auto mounts =
      parse_mounts("30 1 0:26 /r\\011t /m\\134n\\012o rw - fuse.sshfs me@host:/a\\040b rw\n");
  CHECK(mounts == std::vector<Mount>{{"/r\tt", "/m\\n\no", "fuse.sshfs", "me@host:/a b", "rw"}});
}

TEST_CASE("a backslash at the end of a word stays one", "[mounts]") {
  CHECK(parse_mounts("30 1 0:26 /\\04 /a\\ rw - tmpfs none rw\n") ==
        std::vector<Mount>{{"/\\04", "/a\\", "tmpfs", "none", "rw"}});
}

TEST_CASE("a mount whose source is empty has its type and options all the same", "[mounts]") {
  CHECK(parse_mounts("30 1 0:26 / /a rw - tmpfs  rw,size=4k\n") ==
        std::vector<Mount>{{"/", "/a", "tmpfs", "", "rw,size=4k"}});
}

TEST_CASE("lines that are torn are left out, those beside them are not", "[mounts]") {
  const std::string line = "31 1 0:27 / /b rw - ext4 /dev/sda1 rw\n";
  for (const char* torn : {"31 1 0:27 / ", "31 1 0:27 / /c rw", "31 1 0:27 / /c rw -", "\n", " - "})
    CHECK(parse_mounts(line + torn + "\n" + line).size() == 2);
  CHECK(parse_mounts("").empty());
}

TEST_CASE("a relative path belongs to no mount", "[mounts]") {
  const auto mounts = parse_mounts(kTable);
  CHECK(mount_of(mounts, "home/a") == nullptr);
  CHECK(mount_of(mounts, "") == nullptr);
  CHECK(mount_of(mounts, "/mnt/a b/c")->type == "tmpfs");
}
