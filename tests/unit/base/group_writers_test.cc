#include "launcher/base/group_writers.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#include <vector>

#include "catch.h"

using namespace safelaunch;

namespace {

constexpr unsigned kOwner = 1000;
constexpr unsigned kColleague = 1001;
constexpr unsigned kNobodyNamed = ~0U;  // an entry that names nobody

std::string acl_of(const std::vector<posix_acl_xattr_entry>& entries, unsigned version = 2) {
  const posix_acl_xattr_header header{version};
  std::string acl(reinterpret_cast<const char*>(&header), sizeof header);
  for (const posix_acl_xattr_entry& entry : entries)
    acl.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  return acl;
}

bool lets_write(const posix_acl_xattr_entry& entry) {
  return lets_named_write(acl_of({{ACL_USER_OBJ, 7, kNobodyNamed},
                                  entry,
                                  {ACL_GROUP_OBJ, 7, kNobodyNamed},
                                  {ACL_MASK, 7, kNobodyNamed}}),
                          kOwner);
}

constexpr const char* kGroupFile =
    "root:x:0:\nalice:x:1000:\nbob::1001:alice\ncarol:x:1002:carol\nboth:x:1000:alice\n";
constexpr const char* kPasswd =
    "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n"
    "bob::1001:1001::/home/bob:/bin/sh\ncarol:x:1002:1002::/home/carol:/bin/sh\n";

bool is_shared_group(unsigned group, const std::string& more_groups = "",
                     const std::string& more_users = "") {
  return has_other_members(kGroupFile + more_groups, kPasswd + more_users, group, group);
}

}  // namespace

TEST_CASE("an ACL lets somebody write where it names another user or a group", "[group_writers]") {
  CHECK(lets_write({ACL_USER, 6, kColleague}));
  CHECK(lets_write({ACL_GROUP, 2, kOwner}));
  CHECK_FALSE(lets_write({ACL_USER, 5, kColleague}));
  CHECK_FALSE(lets_write({ACL_GROUP, 4, 100}));
  CHECK_FALSE(lets_write({ACL_USER, 7, kOwner}));
  CHECK_FALSE(lets_write({ACL_USER, 7, 0}));
}

TEST_CASE("an ACL that cannot be read is taken to let somebody write", "[group_writers]") {
  CHECK(lets_named_write("", kOwner));
  CHECK(lets_named_write("\2\0", kOwner));
  CHECK(lets_named_write(acl_of({}, 3), kOwner));
  CHECK(lets_named_write(acl_of({{ACL_USER_OBJ, 7, kNobodyNamed}}) + "\1", kOwner));
  CHECK_FALSE(lets_named_write(acl_of({{ACL_USER_OBJ, 7, kNobodyNamed}}), kOwner));
}

TEST_CASE("a user's own group has no other member", "[group_writers]") {
  CHECK_FALSE(is_shared_group(0));
  CHECK_FALSE(is_shared_group(1000));
  CHECK_FALSE(is_shared_group(1002));  // it lists the user himself
  CHECK_FALSE(is_shared_group(4711));  // a directory service may know it
}

TEST_CASE("another member of a user's own group is seen, however it became one",
          "[group_writers]") {
  CHECK(is_shared_group(1001));  // its password is empty, and so is no field left out
  CHECK(is_shared_group(1000, "again:x:1000:alice,mallory\n"));
  CHECK(is_shared_group(1000, "", "mallory:x:4002:1000::/:/bin/sh\n"));
  CHECK_FALSE(is_shared_group(1000, "other:x:10001:mallory\n"));
}
