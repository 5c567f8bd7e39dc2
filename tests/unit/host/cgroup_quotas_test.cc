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

TEST_CASE("a limit is a number at the front, and one that is too large is none", "[quotas]") {
  CHECK(parse_byte_limit("0") == 0);
  CHECK(parse_byte_limit("4611686018427387903") == (std::uint64_t{1} << 62) - 1);
  for (const char* none : {"4611686018427387904", "18446744073709551615", "18446744073709551616",
                           "99999999999999999999999", "-1", " 1", "none"})
    CHECK_FALSE(parse_byte_limit(none));
}

TEST_CASE("a quota without a period, or of no time, limits nothing", "[quotas]") {
  for (const char* none : {"150000", "150000 0", "150000 -1", "0 100000", "150000 max", " 1 2"})
    CHECK_FALSE(parse_cpu_quota(none));
  CHECK(parse_cpu_quota("25000 100000") == 0.25);
}

TEST_CASE("a line of memory is found by its whole name", "[quotas]") {
  constexpr const char* kStat = "file 1\ninactive_file 2\ntotal_inactive_file 3\n";
  CHECK(parse_memory_line(kStat, "file") == 1);
  CHECK(parse_memory_line(kStat, "total_inactive_file") == 3);
  CHECK_FALSE(parse_memory_line(kStat, "active_file"));
  CHECK(parse_memory_line("file", "file") == 0);
  CHECK_FALSE(parse_memory_line("", "file"));
}
