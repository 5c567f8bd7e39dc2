#include "safelaunch/host/platform.h"

#include <utility>
#include <vector>

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;

TEST_CASE("a bare machine has no hints", "[platform]") {
  const Platform platform =
      parse_platform({"Linux version 6.1.0-18-amd64 (x@y) (gcc) #1 SMP",
                      "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet", "0::/user", "flags : fpu vme"});
  CHECK(platform == Platform{});
}

TEST_CASE("containers are known by their marks", "[platform]") {
  PlatformTexts docker;
  docker.docker_file = true;
  CHECK(parse_platform(docker).container == ContainerKind::docker);
  docker.service_account = true;  // Kubernetes may use Docker
  CHECK(parse_platform(docker).container == ContainerKind::kubernetes);
  PlatformTexts pod;
  pod.cgroup = "0::/kubepods.slice/pod1\n";
  CHECK(parse_platform(pod).container == ContainerKind::kubernetes);
}

TEST_CASE("WSL is known by its kernel's name", "[platform]") {
  PlatformTexts texts;
  texts.version = "Linux version 5.15.90.1-microsoft-standard-WSL2 (root@x)";
  CHECK(parse_platform(texts).wsl);
}

TEST_CASE("an IOMMU in pass-through mode translates nothing", "[platform]") {
  PlatformTexts texts;
  texts.iommu_groups = true;
  CHECK(parse_platform(texts).iommu_translates);
  for (const char* command_line :
       {"quiet iommu=pt", "iommu.passthrough=1", "iommu.passthrough=y", "iommu.passthrough=on"}) {
    texts.command_line = command_line;
    CHECK_FALSE(parse_platform(texts).iommu_translates);
  }
}

TEST_CASE("the cgroup tells of the container, whatever version it is of", "[platform]") {
  const std::vector<std::pair<const char*, ContainerKind>> cases{
      {"0::/\n", ContainerKind::none},
      {"0::/user.slice/user-1000.slice/session-3.scope\n", ContainerKind::none},
      {"12:memory:/docker/1b2c\n", ContainerKind::docker},
      {"0::/system.slice/docker-1b2c.scope\n", ContainerKind::docker},
      {"0::/machine.slice/libpod-1b2c.scope/container\n", ContainerKind::podman},
      {"0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-1b.scope\n",
       ContainerKind::kubernetes},
      {"4:memory:/kubepods/burstable/pod1/docker/1b\n", ContainerKind::kubernetes},
      {"4:memory:/lxc/web\n", ContainerKind::none},
  };
  for (const auto& [cgroup, kind] : cases) {
    CAPTURE(cgroup);
    CHECK(parse_platform({.cgroup = cgroup}).container == kind);
  }
}

TEST_CASE("of several marks of containers the innermost maker's counts", "[platform]") {
  PlatformTexts texts{.podman_file = true};
  CHECK(parse_platform(texts).container == ContainerKind::podman);
  texts.docker_file = true;
  CHECK(parse_platform(texts).container == ContainerKind::docker);
}

TEST_CASE("a machine is virtual by a flag of its CPU, not by a word that holds it", "[platform]") {
  CHECK(parse_platform({.cpuinfo = "flags\t\t: fpu vme hypervisor lahf_lm\n"}).virtual_machine);
  CHECK_FALSE(parse_platform({.cpuinfo = "model name\t: nohypervisor\n"}).virtual_machine);
}

TEST_CASE("an IOMMU translates unless a whole word of the command line says otherwise",
          "[platform]") {
  for (const char* line : {"", "intel_iommu=on", "xiommu=pt", "iommu=ptx", "iommu", "iommu=",
                           "iommu.passthrough=0", "iommu.passthrough=off", "quiet  splash"})
    CHECK(parse_platform({.command_line = line, .iommu_groups = true}).iommu_translates);
  CHECK_FALSE(
      parse_platform({.command_line = "intel_iommu=on iommu=pt quiet", .iommu_groups = true})
          .iommu_translates);
  CHECK_FALSE(parse_platform({.command_line = "quiet"}).iommu_translates);  // there is none
}

TEST_CASE("a version that is torn names no host", "[platform]") {
  for (const char* version : {"", "Linux", "Linux version", "Linux version "})
    CHECK(parse_platform({.version = version}) == Platform{});
  CHECK(parse_platform({.version = "Linux version 4.4.0-19041-Microsoft (Microsoft@x)"}).wsl);
}
