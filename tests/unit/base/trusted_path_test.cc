#include "safelaunch/base/trusted_path.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using safelaunch::testing::TemporaryFolder;

namespace {

constexpr unsigned kMe = 1000;
constexpr unsigned kStranger = 1001;

std::string make_folder(const TemporaryFolder& folder, std::string_view name,
                        unsigned mode = 0700) {
  const std::string path = folder / name;
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

constexpr unsigned kNone = ~0U;  // an entry that names nobody

/// Puts an ACL onto a folder; false where its file system keeps none.
bool put_acl(const std::string& path, const std::vector<posix_acl_xattr_entry>& entries) {
  const posix_acl_xattr_header header{POSIX_ACL_XATTR_VERSION};
  std::string acl(reinterpret_cast<const char*>(&header), sizeof header);
  for (const posix_acl_xattr_entry& entry : entries)
    acl.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  return ::setxattr(path.c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) == 0;
}

std::string refusal(const std::string& path) {
  const Result<void> made = make_private_folder(path);
  return made ? "made" : made.error().message;
}

}  // namespace

TEST_CASE("what we or root own and nobody else can write to has no outsider", "[trusted_path]") {
  for (const unsigned mode : {0700U, 0755U, 0500U, 01755U}) {
    CHECK(outsider_of({kMe, kMe, mode}, kMe) == Outsider::none);
    CHECK(outsider_of({0, 100, mode}, kMe) == Outsider::none);
  }
}

TEST_CASE("a strange owner, a group of several and everybody are outsiders", "[trusted_path]") {
  CHECK(outsider_of({kStranger, kMe, 0700}, kMe) == Outsider::owner);
  // Not even root trusts a stranger.
  CHECK(outsider_of({kStranger, kMe, 0700}, 0) == Outsider::owner);
  CHECK(outsider_of({kMe, 100, 0770}, kMe) == Outsider::group);
  CHECK(outsider_of({0, 50, 02775}, kMe) == Outsider::group);
  CHECK(outsider_of({kMe, kMe, 0777}, kMe) == Outsider::everybody);
  CHECK(outsider_of({0, 0, 01777}, kMe) == Outsider::everybody);
}

TEST_CASE("a user's own group, which a umask of 002 lets write, is no outsider", "[trusted_path]") {
  CHECK(outsider_of({kMe, kMe, 0775}, kMe) == Outsider::none);
  CHECK(outsider_of({0, 0, 0775}, kMe) == Outsider::none);
  CHECK(outsider_of({0, kMe, 0775}, kMe) == Outsider::group);
}

TEST_CASE("a group of the owner's number with another member is an outsider", "[trusted_path]") {
  CHECK(outsider_of({kMe, kMe, 0770, false, true}, kMe) == Outsider::group);
  CHECK(outsider_of({kMe, kMe, 0750, false, true}, kMe) == Outsider::none);
}

TEST_CASE("an ACL that lets somebody else write is an outsider", "[trusted_path]") {
  CHECK(outsider_of({kMe, kMe, 0770, true, false}, kMe) == Outsider::named);
  CHECK(outsider_of({kMe, 100, 0770, true, false}, kMe) == Outsider::named);
}

TEST_CASE("a folder into which an ACL lets another user write is not trusted", "[trusted_path]") {
  const TemporaryFolder folder;
  const std::string home = make_folder(folder, "home");
  if (!put_acl(home, {{ACL_USER_OBJ, 7, kNone},
                      {ACL_USER, 7, kStranger},
                      {ACL_GROUP_OBJ, 0, kNone},
                      {ACL_MASK, 7, kNone},
                      {ACL_OTHER, 0, kNone}}))
    return;
  CHECK(mode_of(home) == 0770);
  CHECK(refusal(home + "/.cache/safelaunch") ==
        "an ACL lets others write to " + home + "; `getfacl` names them");
  CHECK(distrust_path(home));
}

TEST_CASE("a folder that an ACL lets another user read is trusted", "[trusted_path]") {
  const TemporaryFolder folder;
  const std::string home = make_folder(folder, "home");
  if (!put_acl(home, {{ACL_USER_OBJ, 7, kNone},
                      {ACL_USER, 5, kStranger},
                      {ACL_GROUP_OBJ, 5, kNone},
                      {ACL_MASK, 5, kNone},
                      {ACL_OTHER, 0, kNone}}))
    return;
  CHECK(refusal(home + "/.cache/safelaunch") == "made");
}

TEST_CASE("a user namespace that lacks users is told from the host's", "[trusted_path]") {
  CHECK(maps_all_users("         0          0 4294967295\n"));
  CHECK_FALSE(maps_all_users("      1000       1000          1\n"));
  CHECK_FALSE(maps_all_users("0 1000 1\n1 100000 65536\n"));
  CHECK_FALSE(maps_all_users(""));
}

TEST_CASE("a folder is made private with all that are missing above it", "[trusted_path]") {
  const TemporaryFolder folder;
  CHECK(refusal(folder / "a/b/c") == "made");
  CHECK(mode_of(folder / "a") == 0700);
  CHECK(mode_of(folder / "a/b/c") == 0700);
  CHECK(refusal(folder / "a/b/c/") == "made");  // again
  CHECK_FALSE(distrust_path(folder / "a/b/c"));
}

TEST_CASE("a folder above that everybody can write to is not trusted", "[trusted_path]") {
  const TemporaryFolder folder;
  const std::string open_folder = make_folder(folder, "open", 0777);
  const std::string why = "everybody can write to " + open_folder + " (mode 0777)";

  CHECK(refusal(open_folder + "/safelaunch/runs") == why);
  CHECK(::access((open_folder + "/safelaunch").c_str(), F_OK) != 0);
  CHECK(distrust_path(open_folder) == why);
}

TEST_CASE("in a sticky folder what is ours stays ours, but the last one is private",
          "[trusted_path]") {
  const TemporaryFolder folder;
  const std::string sticky = make_folder(folder, "tmp", 01777);

  CHECK(refusal(sticky + "/ours") == "made");
  CHECK(refusal(sticky) == "everybody can write to " + sticky + " (mode 1777)");
}

TEST_CASE("a folder that a stranger has put there before is not ours", "[trusted_path]") {
  if (::geteuid() != 0) return;  // only root can give a folder away
  const TemporaryFolder folder;
  const std::string sticky = make_folder(folder, "tmp", 01777);
  const std::string foreign = make_folder(folder, "tmp/safelaunch-0", 0777);
  REQUIRE(::chown(foreign.c_str(), kStranger, kStranger) == 0);

  CHECK(refusal(foreign) == foreign + " belongs to uid 1001");
  CHECK(refusal(foreign + "/runs") == foreign + " belongs to uid 1001");
  CHECK(distrust_path(foreign + "/runs"));
}

TEST_CASE("links of ours are followed, and what they lead over is judged", "[trusted_path]") {
  const TemporaryFolder folder;
  const std::string good = make_folder(folder, "good");
  const std::string bad = make_folder(folder, "bad", 0777);
  make_folder(folder, "bad/inner");
  REQUIRE(::symlink("good", (folder / "relative").c_str()) == 0);
  REQUIRE(::symlink((bad + "/inner").c_str(), (folder / "absolute").c_str()) == 0);
  REQUIRE(::symlink("loop", (folder / "loop").c_str()) == 0);

  CHECK(refusal(folder / "relative/new") == "made");
  CHECK(mode_of(good + "/new") == 0700);
  CHECK(refusal(folder / "absolute/new") == "everybody can write to " + bad + " (mode 0777)");
  CHECK(refusal(folder / "loop/new").find("cannot follow") == 0);
}

TEST_CASE("a stranger's link in a sticky folder is not followed", "[trusted_path]") {
  if (::geteuid() != 0) return;  // only root can give a link away
  const TemporaryFolder folder;
  const std::string link = make_folder(folder, "tmp", 01777) + "/safelaunch-0";
  const std::string good = make_folder(folder, "good");
  REQUIRE(::symlink(good.c_str(), link.c_str()) == 0);
  REQUIRE(::lchown(link.c_str(), kStranger, kStranger) == 0);

  CHECK(refusal(link + "/runs") == link + " belongs to uid 1001");
}

TEST_CASE("a file in the place of a folder, and one that is not there, are not trusted",
          "[trusted_path]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("f", "text");

  CHECK_FALSE(distrust_path(file));
  CHECK(refusal(file) == file + " is not a folder");
  CHECK(refusal(file + "/below") == "cannot open " + file + "/below: Not a directory");
  CHECK(distrust_path(folder / "none") ==
        "cannot open " + folder / "none" + ": No such file or directory");
}

TEST_CASE("in a sticky folder something of ours can be made, in an open one it cannot",
          "[trusted_path]") {
  const TemporaryFolder folder;
  CHECK_FALSE(distrust_place(make_folder(folder, "tmp", 01777)));
  CHECK_FALSE(distrust_place(make_folder(folder, "mine", 0755)));
  const std::string open_folder = make_folder(folder, "open", 0777);
  CHECK(distrust_place(open_folder) == "everybody can write to " + open_folder + " (mode 0777)");
}
