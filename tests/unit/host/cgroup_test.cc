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

namespace {

// As Docker on a host with version 1 mounts them: each controller read-only, its own cgroup as
// root.
constexpr const char* kVersion1Cgroup =
    "12:freezer:/docker/1b2c\n11:cpu,cpuacct:/docker/1b2c\n10:memory:/docker/1b2c\n"
    "3:pids:/docker/1b2c\n1:name=systemd:/docker/1b2c\n0::/system.slice/containerd.service\n";
constexpr const char* kVersion1Mounts =
    "1 0 0:50 / / rw - overlay overlay rw\n"
    "40 1 0:30 /docker/1b2c /sys/fs/cgroup/systemd ro - cgroup cgroup rw,xattr,name=systemd\n"
    "41 1 0:31 /docker/1b2c /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "42 1 0:32 /docker/1b2c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    "43 1 0:33 /docker/1b2c /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n";
constexpr const char* kVersion2Mounts =
    "1 0 0:50 / / rw - overlay overlay rw\n"
    "30 1 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate\n";

std::string cgroup_place(std::string_view controller, std::string_view cgroup,
                         std::string_view mounts) {
  const CgroupFolder folder = cgroup_folder(controller, cgroup, mounts);
  return folder.found() ? folder.file("f") : "";
}

}  // namespace

TEST_CASE("controllers that share a hierarchy of version 1 are found in it", "[cgroup]") {
  CHECK(cgroup_place("cpu", kVersion1Cgroup, kVersion1Mounts) == "/sys/fs/cgroup/cpu,cpuacct/f");
  CHECK(cgroup_place("cpuacct", kVersion1Cgroup, kVersion1Mounts) ==
        "/sys/fs/cgroup/cpu,cpuacct/f");
  CHECK(cgroup_place("pids", kVersion1Cgroup, kVersion1Mounts) == "/sys/fs/cgroup/pids/f");
  CHECK_FALSE(cgroup_folder("memory", kVersion1Cgroup, kVersion1Mounts).unified);
}

TEST_CASE("a controller of version 1 that is not mounted is not sought in version 2", "[cgroup]") {
  CHECK(cgroup_place("freezer", kVersion1Cgroup, kVersion1Mounts).empty());
  CHECK(cgroup_place("freezer", kVersion1Cgroup, kVersion2Mounts).empty());
}

TEST_CASE("a controller's name is a whole word of its list", "[cgroup]") {
  CHECK(cgroup_place("cpu", "4:cpuset:/a\n", kVersion1Mounts).empty());
  CHECK(cgroup_place("mem", "4:memory:/a\n", "42 1 0:32 / /cg rw - cgroup cgroup rw,memory\n")
            .empty());
}

TEST_CASE("in a cgroup namespace our cgroup is the root", "[cgroup]") {
  CHECK(cgroup_place("memory", "0::/\n", kVersion2Mounts) == "/sys/fs/cgroup/f");
  CHECK(up_to_root(cgroup_folder("memory", "0::/\n", kVersion2Mounts)).size() == 1);
}

TEST_CASE("a cgroup outside of our namespace has no file that we see", "[cgroup]") {
  for (const char* cgroup : {"0::/..\n", "0::/../job-7\n", "0::/../../system.slice/a.service\n"})
    CHECK(cgroup_place("freezer", cgroup, kVersion2Mounts).empty());
  CHECK(cgroup_place("freezer", "0::/..hidden\n", kVersion2Mounts) == "/sys/fs/cgroup/..hidden/f");
}

TEST_CASE("a mount of one container does not show another whose name begins alike", "[cgroup]") {
  constexpr const char* kMount = "42 1 0:32 /docker/1b /cg ro - cgroup cgroup rw,memory\n";
  CHECK(cgroup_place("memory", "4:memory:/docker/1b\n", kMount) == "/cg/f");
  CHECK(cgroup_place("memory", "4:memory:/docker/1b/inner\n", kMount) == "/cg/inner/f");
  CHECK(cgroup_place("memory", "4:memory:/docker/1b2c\n", kMount).empty());
  CHECK(cgroup_place("memory", "4:memory:/docker\n", kMount).empty());
}

TEST_CASE("of several mounts the one that shows the cgroup is taken", "[cgroup]") {
  CHECK(cgroup_place("memory", "4:memory:/b/x\n",
                     "41 1 0:32 /a /cg/a ro - cgroup cgroup rw,memory\n"
                     "42 1 0:32 /b /cg/b\\040c ro - cgroup cgroup rw,memory\n") == "/cg/b c/x/f");
}

TEST_CASE("a Slurm job of version 2 stands below its step, up to the root", "[cgroup]") {
  std::vector<std::string> files;
  for (const CgroupFolder& one : up_to_root(cgroup_folder(
           "memory", "0::/system.slice/slurmstepd.scope/job_7/step_0\n", kVersion2Mounts)))
    files.push_back(one.file("memory.max"));
  CHECK(files == std::vector<std::string>{
                     "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/memory.max",
                     "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/memory.max",
                     "/sys/fs/cgroup/system.slice/slurmstepd.scope/memory.max",
                     "/sys/fs/cgroup/system.slice/memory.max", "/sys/fs/cgroup/memory.max"});
  CHECK(up_to_root({}).empty());
}

TEST_CASE("torn lines name no cgroup", "[cgroup]") {
  for (const char* cgroup : {"0", "0:", "0::", "\n\n", "4:memory", "4:memory:", ":::", "nonsense"})
    CHECK(cgroup_place("memory", cgroup, kVersion2Mounts).empty());
}

TEST_CASE("an empty counter of kills counts none, and a torn one tells nothing", "[cgroup]") {
  CHECK(oom_kills_in("oom_kill 0") == 0);
  CHECK(oom_kills_in("oom_kill") == 0);
  CHECK_FALSE(oom_kills_in("oom_ki"));
  CHECK_FALSE(oom_kills_in("oom_kill_disable 4\noom_group_kill 2\n"));
}
