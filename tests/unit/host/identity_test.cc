#include "safelaunch/host/identity.h"

#include <unistd.h>

#include "catch.h"
#include "safelaunch/host/process_facts.h"

using namespace safelaunch;

using namespace safelaunch::host;

TEST_CASE("the host knows who it is") {
  const auto host = read_identity();

  CHECK(host.boot_id.size() == 36);
  CHECK(host.pid_namespace == pid_namespace_of(::getpid()));
  CHECK(host.uid == ::geteuid());
  CHECK_FALSE(host.hostname.empty());
  CHECK_FALSE(host.cpus.empty());
}

TEST_CASE("start times of another time namespace are as those of another boot") {
  CHECK(boot_id_of("fba06507", "time:[4026531834]") == "fba06507");
  CHECK(boot_id_of("fba06507", "") == "fba06507");  // an old kernel has none
  const std::string other = boot_id_of("fba06507", "time:[4026532345]");
  CHECK(other != boot_id_of("fba06507", "time:[4026532346]"));
  CHECK(other != "fba06507");
  const OwnerMark mark{other, 1, {2, 3}, 4, {}};
  CHECK(parse_owner_mark(to_string(mark)) == mark);
}

TEST_CASE("a kernel list is read up to the first thing that is no number") {
  CHECK(parse_number_list("0-3,8") == std::vector{0, 1, 2, 3, 8});
  CHECK(parse_number_list("5") == std::vector{5});
  CHECK(parse_number_list("").empty());
  CHECK(parse_number_list("none").empty());
}

TEST_CASE("a user without a name is his number") {
  CHECK(user_name(0) == "root");
  CHECK(user_name(3'999'999'999U) == "3999999999");
}

TEST_CASE("an owner's mark is read back as it was written") {
  const OwnerMark mark{
      "fba06507-94c2-4389-a3a6-682f40b741e2", 4026531836, {71, 4711}, 9, {{70, 4700}, {1, 0}}};
  CHECK(to_string(mark) == "fba06507-94c2-4389-a3a6-682f40b741e2:4026531836:71:4711:9:70.4700,1.0");
  CHECK(parse_owner_mark(to_string(mark)) == mark);
  const OwnerMark alone{"boot", 1, {2, 3}, 4, {}};
  CHECK(parse_owner_mark(to_string(alone)) == alone);
}

TEST_CASE("a mark that is not whole proves nothing") {
  const auto* text =
      GENERATE("", ":", "boot", "boot:1:2", "boot:1:2:", "boot:1:2:3x", "boot:1:2:-3", ":1:2:3",
               "boot:0:2:3:4:", "boot:1:0:3:4:", "boot:1:2:3", "boot:1:2:3:0:", "boot:1:2:3:4:5",
               "boot:1:2:3:4:5.6,7", "boot:1:2:3:4:5.6:7", "boot:1:99999999999999999999:3:4:");
  CAPTURE(text);
  CHECK_FALSE(parse_owner_mark(text));
}

TEST_CASE("our own mark names this boot, this namespace and us") {
  const auto mark = parse_owner_mark(owner_mark(self()));

  REQUIRE(mark);
  CHECK(mark->owner == self());
  CHECK(mark->boot_id == read_identity().boot_id);
  CHECK(mark->pid_namespace == pid_namespace_of(::getpid()));
  CHECK(mark->cgroups == cgroups_key(cgroup_of(::getpid())));
  // The first process of a pid namespace has nobody above it that anybody here can see.
  const auto parent = facts_of(::getppid());
  CHECK(mark->above.empty() == !parent);
  if (parent && !mark->above.empty()) CHECK(mark->above.front() == parent->id);
}
