#include "safelaunch/host/platform.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;

TEST_CASE("a bare machine has no hints", "[platform]") {
  const Platform platform =
      parse_platform({"Linux version 6.1.0-18-amd64 (x@y) (gcc) #1 SMP",
                      "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet", "0::/user", "flags : fpu vme"});
  CHECK(platform.kernel == "6.1.0-18-amd64");
  Platform bare;
  bare.kernel = "6.1.0-18-amd64";
  CHECK(platform == bare);
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

TEST_CASE("WSL and gVisor are known by their kernels' names", "[platform]") {
  PlatformTexts texts;
  texts.version = "Linux version 5.15.90.1-microsoft-standard-WSL2 (root@x)";
  CHECK(parse_platform(texts).wsl);
  texts.version = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016";
  CHECK(parse_platform(texts).gvisor);
}

TEST_CASE("an IOMMU in pass-through mode translates nothing", "[platform]") {
  PlatformTexts texts;
  texts.iommu_groups = true;
  CHECK(parse_platform(texts).iommu_translates);
  for (const char* command_line : {"quiet iommu=pt", "iommu.passthrough=1"}) {
    texts.command_line = command_line;
    CHECK_FALSE(parse_platform(texts).iommu_translates);
  }
}

TEST_CASE("this host's kernel has a name", "[platform]") {
  CHECK_FALSE(read_platform().kernel.empty());
}
