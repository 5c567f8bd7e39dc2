#include "safelaunch/host/platform.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/proc.h"

/// Several marks of containers may be there at once, since Kubernetes runs on an engine, and images
/// carry files. Kubernetes' mark counts before that of an engine. Every other hint is one word of
/// one text.
namespace safelaunch::host {
namespace {

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

ContainerKind container_of(const PlatformTexts& texts) {
  if (texts.service_account || holds(texts.cgroup, "kubepods")) return ContainerKind::kubernetes;
  if (texts.docker_file || holds(texts.cgroup, "/docker")) return ContainerKind::docker;
  if (texts.podman_file || holds(texts.cgroup, "libpod")) return ContainerKind::podman;
  return ContainerKind::none;
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
  if (boot_option(command_line, "iommu") == "pt") return true;
  const std::string_view value = boot_option(command_line, "iommu.passthrough");
  return value == "on" || (!value.empty() && holds("1yYtT", value.substr(0, 1)));
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

Duration time_of_stamps() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC,
                  &now);  // the clock of the kernel's stamps: time asleep does not count
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(now.tv_sec) +
                                              std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

Platform parse_platform(const PlatformTexts& texts) {
  Platform platform;
  platform.container = container_of(texts);
  platform.wsl = holds(texts.version, "icrosoft");
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
  texts.service_account = is_there("/var/run/secrets/kubernetes.io");
  Platform platform = parse_platform(texts);
  platform.numa_policy = may_read_numa_policy();
  return platform;
}

std::optional<KernelMessage> parse_kernel_message(std::string_view record, Duration uptime) {
  std::string_view head = take_word(record, ';');
  if (record.empty()) return std::nullopt;
  static_cast<void>(take_word(head, ','));  // priority
  static_cast<void>(take_word(head, ','));  // sequence number
  const std::chrono::microseconds stamp(number_in<std::int64_t>(take_word(head, ',')));
  const Duration age = uptime - std::chrono::duration_cast<Duration>(stamp);
  return KernelMessage{std::string(take_word(record, '\n')), std::max(Duration{}, age)};
}

std::vector<KernelMessage> kernel_messages_with(std::string_view part) {
  std::vector<KernelMessage> messages;
  const UniqueFd log(::open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const Duration uptime = time_of_stamps();
  std::array<char, 8192> record;  // the kernel's own limit
  while (log) {
    const auto got = ::read(log.get(), record.data(), record.size());
    if (got < 0 && errno == EPIPE) continue;  // it was overwritten before we came to it
    if (got <= 0) break;
    const std::string_view text(record.data(), static_cast<std::size_t>(got));
    if (text.find(part) == std::string_view::npos) continue;
    if (auto message = parse_kernel_message(text, uptime)) messages.push_back(std::move(*message));
  }
  return messages;
}

}  // namespace safelaunch::host
