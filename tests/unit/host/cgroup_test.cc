#include "safelaunch/host/cgroup.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;

TEST_CASE("with cgroup v2 the kills are counted in memory.events", "[cgroup_memory]") {
  CHECK(oom_counter_file("0::/user.slice/job-7\n",
                         "25 1 0:22 / /proc rw - proc proc rw\n"
                         "36 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n") ==
        "/sys/fs/cgroup/user.slice/job-7/memory.events");
}

TEST_CASE("a memory controller of version 1 goes before an empty version 2", "[cgroup_memory]") {
  CHECK(oom_counter_file("8:pids:/\n4:memory:/job\n0::/\n",
                         "30 25 0:26 / /sys/fs/cgroup/pids rw - cgroup none rw,pids\n"
                         "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup none rw,memory\n"
                         "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n") ==
        "/sys/fs/cgroup/memory/job/memory.oom_control");
}

TEST_CASE("in a container the mount shows the own cgroup as its root", "[cgroup_memory]") {
  CHECK(
      oom_counter_file("4:memory:/docker/1b2c\n",
                       "31 25 0:27 /docker/1b2c /sys/fs/cgroup/memory ro - cgroup m rw,memory\n") ==
      "/sys/fs/cgroup/memory/memory.oom_control");
}

TEST_CASE("without a mounted memory controller there is no counter", "[cgroup_memory]") {
  CHECK(oom_counter_file("0::/job\n", "25 1 0:22 / /proc rw - proc proc rw\n").empty());
  CHECK(oom_counter_file("", "").empty());
}

TEST_CASE("the counter is read from the texts of both versions", "[cgroup_memory]") {
  CHECK(oom_kills_in("low 0\nhigh 0\nmax 12\noom 4\noom_kill 3\noom_group_kill 0\n") == 3);
  CHECK(oom_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n") == 1);
  CHECK_FALSE(oom_kills_in("oom_kill_disable 0\nunder_oom 0\n"));
}

TEST_CASE("a frozen cgroup says so in either version's file") {
  CHECK(says_frozen("populated 1\nfrozen 1\n", true));
  CHECK(says_frozen("frozen 1\n", true));
  CHECK_FALSE(says_frozen("populated 1\nfrozen 0\n", true));
  CHECK(says_frozen("FROZEN\n", false));
  CHECK_FALSE(says_frozen("FREEZING\n", false));
  CHECK_FALSE(says_frozen("THAWED\n", false));
  CHECK_FALSE(says_frozen("", false));
}
