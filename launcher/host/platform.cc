#include "safelaunch/host/platform.h"

#include <dirent.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "safelaunch/host/proc.h"

namespace safelaunch::host {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

ContainerKind container_of(const PlatformTexts& texts) {
  if (texts.service_account || holds(texts.cgroup, "kubepods")) return ContainerKind::kubernetes;
  if (texts.docker_file || holds(texts.cgroup, "/docker")) return ContainerKind::docker;
  if (texts.podman_file || holds(texts.cgroup, "libpod")) return ContainerKind::podman;
  if (texts.apptainer_folder) return ContainerKind::apptainer;
  return holds(texts.cgroup, "/lxc") ? ContainerKind::other : ContainerKind::none;
}

/// The value of a word "key=value" of the kernel's command line.
std::string_view boot_option(std::string_view command_line, std::string_view key) {
  while (!command_line.empty()) {
    std::string_view value = take_word(command_line);
    if (take_word(value, '=') == key) return value;
  }
  return {};
}

bool passes_through(std::string_view command_line) {
  return boot_option(command_line, "iommu") == "pt" ||
         boot_option(command_line, "iommu.passthrough") == "1";
}

/// gVisor's kernel calls itself by one fixed version and date.
bool is_gvisor(std::string_view version) {
  return holds(version, "gVisor") || holds(version, "Jan 10 15:06:54 PST 2016");
}

bool is_there(const char* path) {
  return ::access(path, F_OK) == 0;
}

bool has_entries(const char* path) {
  const std::unique_ptr<DIR, decltype([](DIR* folder) { ::closedir(folder); })> folder(
      ::opendir(path));
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr)
    if (entry->d_name[0] != '.') return true;
  return false;
}

/// NCCL asks for the NUMA policy before it takes host memory from CUDA, and does without where the
/// kernel refuses.
bool may_read_numa_policy() {
  int mode = 0;
  return ::syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) == 0 || errno != EPERM;
}

}  // namespace

const char* name(ContainerKind kind) {
  switch (kind) {
    case ContainerKind::none: return "none";
    case ContainerKind::docker: return "Docker";
    case ContainerKind::podman: return "Podman";
    case ContainerKind::kubernetes: return "Kubernetes";
    case ContainerKind::apptainer: return "Apptainer";
    case ContainerKind::other: return "another container";
  }
  return "";
}

Platform parse_platform(const PlatformTexts& texts) {
  Platform platform;
  std::string_view version = texts.version;
  (void)take_word(version);
  (void)take_word(version);
  platform.kernel = take_word(version);
  platform.container = container_of(texts);
  platform.wsl = holds(texts.version, "icrosoft");
  platform.gvisor = is_gvisor(texts.version);
  platform.virtual_machine = holds(texts.cpuinfo, " hypervisor");
  platform.iommu_translates = texts.iommu_groups && !passes_through(texts.command_line);
  return platform;
}

Platform read_platform() {
  const SmallFile version("/proc/version");
  const SmallFile command_line("/proc/cmdline");
  const SmallFile cgroup("/proc/self/cgroup");
  const SmallFile cpuinfo("/proc/cpuinfo");
  PlatformTexts texts{version.text(), command_line.text(), cgroup.text(), cpuinfo.text()};
  texts.iommu_groups = has_entries("/sys/kernel/iommu_groups");
  texts.docker_file = is_there("/.dockerenv");
  texts.podman_file = is_there("/run/.containerenv");
  texts.apptainer_folder = is_there("/.singularity.d");
  texts.service_account = is_there("/var/run/secrets/kubernetes.io");
  Platform platform = parse_platform(texts);
  platform.numa_policy = may_read_numa_policy();
  return platform;
}

}  // namespace safelaunch::host
