#pragma once

#include <optional>
#include <vector>

#include "safelaunch/base/time.h"

namespace safelaunch::host {

/// The container between a job and the bare machine.
enum class ContainerKind { none, docker, podman, kubernetes };

/// Hints about the kernel and the container. None of them proves anything.
struct Platform {
  ContainerKind container = ContainerKind::none;
  bool wsl = false;
  bool virtual_machine = false;
  bool iommu_translates = false;  ///< an IOMMU is on and not in pass-through mode
  bool numa_policy = true;        ///< get_mempolicy is allowed; Docker's seccomp filter forbids it
  bool operator==(const Platform&) const = default;
};

/// The files that the hints are read from.
struct PlatformTexts {
  std::string_view version{};       ///< /proc/version
  std::string_view command_line{};  ///< /proc/cmdline
  std::string_view cgroup{};        ///< /proc/self/cgroup
  std::string_view cpuinfo{};       ///< the first page of /proc/cpuinfo
  bool iommu_groups = false;        ///< /sys/kernel/iommu_groups is not empty
  bool docker_file = false;         ///< /.dockerenv
  bool podman_file = false;         ///< /run/.containerenv
  bool service_account = false;     ///< /var/run/secrets/kubernetes.io
};

/// Reads the texts; the fields that need a system call keep their defaults. Pure.
[[nodiscard]] Platform parse_platform(const PlatformTexts& texts);

[[nodiscard]] Platform read_platform();

/// One line of the kernel's log.
struct KernelMessage {
  std::string text;
  Duration age{};
  bool operator==(const KernelMessage&) const = default;
};

/// Takes a record of /dev/kmsg apart ("6,339,5140900,-;NVRM: loading", with more lines about the
/// device), seen `uptime` after the boot; nullopt for any other text.
[[nodiscard]] std::optional<KernelMessage> parse_kernel_message(std::string_view record,
                                                                Duration uptime);

/// The messages with `part` in them that the kernel still has, the oldest first. Empty where we may
/// not read them, as in most containers and under kernel.dmesg_restrict.
[[nodiscard]] std::vector<KernelMessage> kernel_messages_with(std::string_view part);

}  // namespace safelaunch::host
