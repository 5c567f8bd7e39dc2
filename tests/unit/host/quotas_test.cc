#include "safelaunch/host/cgroup.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;

TEST_CASE("limits of both cgroup versions are read", "[quotas]") {
  CHECK(parse_byte_limit("1073741824") == 1073741824);
  CHECK_FALSE(parse_byte_limit("max"));
  CHECK_FALSE(parse_byte_limit("9223372036854771712"));
  CHECK_FALSE(parse_byte_limit(""));
}

TEST_CASE("a quota of CPUs is a share of a period", "[quotas]") {
  CHECK(parse_cpu_quota("150000 100000") == 1.5);
  CHECK_FALSE(parse_cpu_quota("max 100000"));
  CHECK_FALSE(parse_cpu_quota("-1 100000"));
  CHECK_FALSE(parse_cpu_quota(""));
}

TEST_CASE("lines of memory.stat and of meminfo are read in bytes", "[quotas]") {
  CHECK(parse_memory_line("anon 1\ninactive_file 4096\n", "inactive_file") == 4096);
  CHECK(parse_memory_line("MemTotal:       24684084 kB\nMemAvailable:   2 kB\n", "MemAvailable") ==
        2048);
  CHECK_FALSE(parse_memory_line("MemTotal: 1 kB\n", "MemAvailable"));
}

TEST_CASE("the limits of a cgroup and of all above it count", "[quotas]") {
  const auto folders = up_to_root(
      cgroup_folder("memory", "0::/a/b\n", "36 25 0:30 / /cg rw - cgroup2 cgroup2 rw\n"));
  REQUIRE(folders.size() == 3);
  CHECK(folders[0].file("memory.max") == "/cg/a/b/memory.max");
  CHECK(folders[1].file("memory.max") == "/cg/a/memory.max");
  CHECK(folders[2].file("memory.max") == "/cg/memory.max");
}

TEST_CASE("this host leaves us some memory and some files to open", "[quotas]") {
  const Quotas quotas = read_quotas();
  REQUIRE(quotas.memory_left);
  CHECK(*quotas.memory_left > 0);
  CHECK(read_limits().open_files.soft > 0);
}
