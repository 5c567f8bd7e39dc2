#include "checks.h"

#include <algorithm>
#include <array>
#include <map>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"
#include "safelaunch/host/process_facts.h"

// Three questions decide here. Does each rank find a GPU, by the variables and by the counts? Does
// the platform (WSL, IOMMU, a virtual machine, seccomp) hamper copies between GPUs? Has the driver
// written an error of failing hardware into the kernel's log? The driver's own answers come judged
// from the room gpu.
namespace safelaunch::doctor {
namespace {

/// Counts the GPUs that a rank of the subject sees; 0 where nobody knows. The driver's own count
/// heeds CUDA_VISIBLE_DEVICES already, that of the kernel's devices does not.
int visible_gpus(const HostFacts& facts) {
  if (facts.subject.spawn && facts.subject.spawn->devices_selected)
    return static_cast<int>(facts.subject.spawn->devices.size());
  const int gpus = facts.gpus.value_or(0);
  const Environment& environment = facts.subject.environment;
  if (!environment.contains("CUDA_VISIBLE_DEVICES")) return gpus;
  const auto named = job::parse_devices(value_or(environment, "CUDA_VISIBLE_DEVICES"));
  return std::min(gpus, static_cast<int>(named.size()));
}

std::string are_visible(int gpus) {
  return gpus == 1 ? "1 GPU is visible" : fmt::format("{} GPUs are visible", gpus);
}

/// Compares the ranks with the visible GPUs. A job without any visible GPU runs on the CPU on
/// purpose, so nothing is said of it.
void check_counts(const HostFacts& facts, Advices& advices) {
  const int gpus = visible_gpus(facts);
  if (gpus == 0) return;
  const auto ranks = processes_here(facts.subject);
  if (ranks && *ranks > gpus)
    advise(advices, Severity::risk, cause::kDeviceOrdinal,
           fmt::format("the command asks for {} processes, but {}", *ranks, are_visible(gpus)),
           "start no more processes than GPUs, or look at CUDA_VISIBLE_DEVICES");
  else if (facts.world.local_rank && *facts.world.local_rank >= gpus)
    advise(advices, Severity::risk, cause::kDeviceOrdinal,
           fmt::format("LOCAL_RANK={}, and {}", *facts.world.local_rank, are_visible(gpus)),
           "LOCAL_RANK counts from 0 on each node; look at CUDA_VISIBLE_DEVICES");
}

void check_hints(const HostFacts& facts, Advices& advices) {
  const host::Platform& platform = facts.platform;
  if (platform.wsl)
    advise(advices, Severity::note, cause::kWslTopology,
           "/proc/version names Microsoft's kernel: WSL hides the GPUs' place on the bus",
           "if the job hangs: --profile no-p2p");
  if (!platform.numa_policy)
    advise(advices, Severity::note, cause::kCumemHostBroken,
           "get_mempolicy is not permitted here (a seccomp filter, as Docker's)",
           "docker run --cap-add SYS_NICE, or NCCL_CUMEM_HOST_ENABLE=0 on all ranks");
  if (facts.gpus.value_or(0) < 2) return;
  if (platform.iommu_translates)
    advise(advices, Severity::note, cause::kGpuP2p,
           "/sys/kernel/iommu_groups is not empty, and /proc/cmdline has no iommu=pt",
           "if the first collective hangs: --profile no-p2p");
  else if (platform.virtual_machine)
    advise(advices, Severity::note, cause::kGpuP2p,
           "/proc/cpuinfo has the flag hypervisor: copies between GPUs may be blocked",
           "if the first collective hangs: --profile no-p2p");
}

}  // namespace

void check_gpus(const HostFacts& facts, Advices& advices) {
  if (may_use_gpus(facts)) {
    check_counts(facts, advices);
    check_hints(facts, advices);
  }
  for (const Finding& finding : facts.gpu_findings) advices.push_back({finding, {}, {}});
}

// ---- errors in the kernel's log -----------------------------------------------------------------

std::optional<Xid> parse_xid(std::string_view text) {
  constexpr std::string_view kHead = "NVRM: Xid (PCI:";
  constexpr std::string_view kBetween = "): ";
  const auto head = text.find(kHead);
  if (head == std::string_view::npos) return std::nullopt;
  text.remove_prefix(head + kHead.size());
  const auto end = text.find(kBetween);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view device = text.substr(0, end);
  text.remove_prefix(end + kBetween.size());
  const auto code = take_number(text);
  return code ? std::optional(Xid{std::string(device), *code}) : std::nullopt;
}

bool is_grave(const Xid& xid) {
  // These codes tell of memory that could not be corrected (48, 64, 94, 95, 140), NVLink (74), a
  // GPU off the bus (79), the GPU's own firmware (61, 62, 119, 120), a reset or reboot asked for
  // (154).
  constexpr std::array kGrave{48, 61, 62, 64, 74, 79, 94, 95, 119, 120, 140, 154};
  return std::ranges::find(kGrave, xid.code) != kGrave.end();
}

/// Tells only the last error of each GPU, because one failure writes dozens of lines. It is a risk
/// and no more, since a reset may have healed the GPU.
void check_xids(const HostFacts& facts, Advices& advices) {
  std::map<std::string, const host::KernelMessage*> last;
  for (const host::KernelMessage& message : facts.driver_messages)
    if (const auto xid = parse_xid(message.text); xid && is_grave(*xid)) last[xid->pci] = &message;
  for (const auto& [pci, message] : last)
    advise(advices, Severity::risk, cause::kGpuIll,
           fmt::format("the kernel's log, {} ago: {}", rough_age(message->age), message->text),
           fmt::format("nvidia-smi -q -i {}.0; reset the GPU, or take it out of the job "
                       "(CUDA_VISIBLE_DEVICES)",
                       pci));
}

}  // namespace safelaunch::doctor
