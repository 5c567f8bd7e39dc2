#pragma once

#include <string>
#include <string_view>

namespace safelaunch::host {

/// The container between a job and the bare machine.
enum class ContainerKind { none, docker, podman, kubernetes, apptainer, other };

[[nodiscard]] const char* name(ContainerKind kind);

/// Hints about the kernel and the container. None of them proves anything.
struct Platform {
  std::string kernel;  ///< "6.1.0-18-amd64"
  ContainerKind container = ContainerKind::none;
  bool wsl = false;
  bool gvisor = false;
  bool virtual_machine = false;
  bool iommu_translates = false;  ///< an IOMMU is on and not in pass-through mode
  bool numa_policy = true;        ///< get_mempolicy is allowed; Docker's seccomp filter forbids it
  bool operator==(const Platform&) const = default;
};

/// The files that the hints are read from.
struct PlatformTexts {
  std::string_view version;       ///< /proc/version
  std::string_view command_line;  ///< /proc/cmdline
  std::string_view cgroup;        ///< /proc/1/cgroup, or our own
  std::string_view cpuinfo;       ///< the first page of /proc/cpuinfo
  bool iommu_groups = false;      ///< /sys/kernel/iommu_groups is not empty
  bool docker_file = false;       ///< /.dockerenv
  bool podman_file = false;       ///< /run/.containerenv
  bool apptainer_folder = false;  ///< /.singularity.d
  bool service_account = false;   ///< /var/run/secrets/kubernetes.io
};

/// Reads the texts; the fields that need a system call keep their defaults. Pure.
[[nodiscard]] Platform parse_platform(const PlatformTexts& texts);

[[nodiscard]] Platform read_platform();

}  // namespace safelaunch::host
