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
  const OwnerMark mark{"fba06507-94c2-4389-a3a6-682f40b741e2",
                       4026531836,
                       {71, 4711},
                       9,
                       {{70, 4700}, {1, 0}},
                       1000};
  CHECK(to_string(mark) ==
        "fba06507-94c2-4389-a3a6-682f40b741e2:4026531836:1000:71:4711:9:70.4700,1.0");
  CHECK(parse_owner_mark(to_string(mark)) == mark);
  const OwnerMark alone{"boot", 1, {2, 3}, 4, {}};
  CHECK(parse_owner_mark(to_string(alone)) == alone);
}

TEST_CASE("a mark that is not whole proves nothing") {
  const auto* text =
      GENERATE("", ":", "boot", "boot:1:0:2", "boot:1:0:2:", "boot:1:0:2:3x", "boot:1:0:2:-3",
               ":1:0:2:3:4:", "boot:0:0:2:3:4:", "boot:1:0:0:3:4:", "boot:1:0:2:3",
               "boot:1:0:2:3:0:", "boot:1:0:2:3:4:5", "boot:1:0:2:3:4:5.6,7",
               "boot:1:0:2:3:4:5.6:7", "boot:1:0:99999999999999999999:3:4:", "boot:1:2:3:4:",
               "boot:1:-1:2:3:4:", "boot:1:4294967296:2:3:4:");
  CAPTURE(text);
  CHECK_FALSE(parse_owner_mark(text));
}

TEST_CASE("our own mark names this boot, this namespace and us") {
  const auto mark = parse_owner_mark(owner_mark(self()));

  REQUIRE(mark);
  CHECK(mark->owner == self());
  CHECK(mark->boot_id == read_identity().boot_id);
  CHECK(mark->uid == ::geteuid());
  CHECK(mark->pid_namespace == pid_namespace_of(::getpid()));
  CHECK(mark->cgroups == cgroups_key(cgroup_of(::getpid())));
  // The first process of a pid namespace has nobody above it that anybody here can see.
  const auto parent = facts_of(::getppid());
  CHECK(mark->above.empty() == !parent);
  if (parent && !mark->above.empty()) CHECK(mark->above.front() == parent->id);
}

TEST_CASE("a kernel list is read with its line end, and stops where it makes no sense",
          "[identity]") {
  CHECK(parse_number_list("0-1,4-5\n") == std::vector{0, 1, 4, 5});
  CHECK(parse_number_list("3-1,7") == std::vector{7});  // a range of none
  CHECK(parse_number_list("1,,2") == std::vector{1});
  CHECK(parse_number_list("1,x,2") == std::vector{1});
  CHECK(parse_number_list("-3").empty());
}

TEST_CASE("a kernel list that names more than any host has ends all the same", "[identity]") {
  CHECK(parse_number_list("0-2147483647").size() < 100'000);
  CHECK(parse_number_list("2147483647").size() <= 1);
}

TEST_CASE("only the first pid namespace of a host shows all its processes", "[identity]") {
  HostIdentity host;
  CHECK_FALSE(sees_all_processes(host));
  host.pid_namespace = 4026531836;
  CHECK(sees_all_processes(host));
  host.pid_namespace = 4026532345;
  CHECK_FALSE(sees_all_processes(host));
}

TEST_CASE("cgroups have one key, never 0, and other cgroups another", "[identity]") {
  CHECK(cgroups_key("0::/a\n") == cgroups_key("0::/a\n"));
  CHECK(cgroups_key("0::/a\n") != cgroups_key("0::/b\n"));
  CHECK(cgroups_key("0::/a\n") != cgroups_key("0::/a"));
  CHECK(cgroups_key("") != 0);
}

TEST_CASE("a mark that is torn anywhere is not the mark that was written", "[identity]") {
  const OwnerMark mark{"fba06507-94c2", 4026531836, {71, 4711}, 9, {{70, 4700}, {1, 5}}};
  const std::string whole = to_string(mark);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto torn = parse_owner_mark(whole.substr(0, size));
    CHECK_FALSE((torn && *torn == mark));
  }
}

TEST_CASE("a mark in other letters than ours proves nothing", "[identity]") {
  for (const char* text :
       {"boot:1:0:2:3:4:5.6,", "boot:1:0:2:3:4:,5.6", "boot:01:0:2:3:4:", "boot:1:0:2:3:4:05.6",
        "boot:1:0:2:3:4:5.06", "boot:1:0:2:3:4:5.6,,7.8", "boot:1:0:2:3:4:5.6 ",
        "boot:1:0:2:3:4:5.-6", "boot:1:0:2:3:4:-5.6", "boot:1:0:2:3:4:0.6"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_owner_mark(text));
  }
}

TEST_CASE("a process is kept only where its variable says 1", "[identity]") {
  CHECK(asks_to_be_kept({{"A", "2"}, {"SAFELAUNCH_KEEP", "1"}}));
  for (const char* value : {"", "0", "11", "yes"})
    CHECK_FALSE(asks_to_be_kept({{"SAFELAUNCH_KEEP", value}}));
  CHECK_FALSE(asks_to_be_kept({{"XSAFELAUNCH_KEEP", "1"}}));
  CHECK(kKeepSetting == std::string(kKeepVariable) + "=1");
}
