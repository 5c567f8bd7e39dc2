#include "safelaunch/gpu/findings.h"

#include <algorithm>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/gpu/devices.h"
#include "safelaunch/gpu/memory.h"

// The driver and its version are judged first, then each GPU that the job will use: its health and,
// where it is well, its modes, the fabric and its memory. A GPU outside the job's devices gives no
// finding, and memory counts only where others hold it.
namespace safelaunch::gpu {
namespace {

using Findings = std::vector<Finding>;

/// "GPU 3 (NVIDIA H100 80GB HBM3, 00000000:1B:00.0)".
std::string title_of(const Gpu& gpu) {
  if (gpu.name.empty()) return fmt::format("GPU {}", gpu.index);
  return fmt::format("GPU {} ({}, {})", gpu.index, gpu.name, gpu.pci);
}

constexpr const char* kLookAtKernel =
    "nvidia-smi will hang as well; look at dmesg | grep -i xid, and reset the GPU or reboot";
constexpr const char* kTakeOut =
    "take it out of the job (CUDA_VISIBLE_DEVICES) and have the node checked: nvidia-smi -q, dmesg "
    "| grep -i xid";

/// Tells why the driver could not be asked, or not to the end.
void judge_driver(const Facts& facts, Findings& findings) {
  switch (facts.trouble) {
    case Trouble::none: return;
    case Trouble::no_driver:
      findings.push_back({cause::kNoGpu, Severity::note, facts.why,
                          "run where a GPU is visible, or on the CPU with backend gloo"});
      return;
    case Trouble::driver_mismatch:
      findings.push_back({cause::kDriverMismatch, Severity::blocks, facts.why,
                          "reboot, or load the kernel module of the new version"});
      return;
    case Trouble::no_permission:
      findings.push_back({cause::kContainerLostGpus, Severity::blocks, facts.why,
                          "create the container again: it may no longer open its GPUs"});
      return;
    case Trouble::no_answer:
      findings.push_back({cause::kDriverSilent, Severity::blocks, facts.why, kLookAtKernel});
      return;
    case Trouble::crashed:
      findings.push_back({cause::kGpuIll, Severity::blocks, facts.why, kLookAtKernel});
      return;
    case Trouble::failed:
      findings.push_back({cause::kCudaUnknown, Severity::risk, facts.why, "nvidia-smi -q"});
      return;
  }
}

void judge_health(const Gpu& gpu, Findings& findings) {
  const auto add = [&](Severity severity, const std::string& what, const char* remedy) {
    findings.push_back(
        {cause::kGpuIll, severity, fmt::format("{} {}", title_of(gpu), what), remedy});
  };
  switch (gpu.health) {
    case Health::well: break;
    case Health::lost: return add(Severity::blocks, "is lost: it has fallen off the bus", kTakeOut);
    case Health::reset_required:
      return add(Severity::blocks, "must be reset before it is used again",
                 "nvidia-smi --gpu-reset, by the administrator");
    case Health::failing:
      return add(Severity::blocks,
                 gpu.trouble.empty() ? "does not answer" : "does not answer: " + gpu.trouble,
                 kTakeOut);
  }
  if (gpu.errors.repair_failed)
    add(Severity::risk, "has no spare memory rows left for repairs", kTakeOut);
  else if (gpu.errors.repair_pending)
    add(Severity::risk, "waits for a reset to take bad memory out of use",
        "nvidia-smi --gpu-reset, by the administrator");
  else if (gpu.errors.uncorrected.value_or(0) > 0)
    add(Severity::risk,
        fmt::format("had {} uncorrected memory errors since the driver was loaded",
                    *gpu.errors.uncorrected),
        kTakeOut);
  // NVML's share of time may still be that of a process that has just ended.
  if (computes_for_nobody(gpu))
    add(Severity::note,
        fmt::format("computes ({} %) although no process is on it: a kernel may hang there",
                    *gpu.busy_percent),
        "where it stays so: nvidia-smi --gpu-reset, by the administrator");
  if (!gpu.recovery.empty() && gpu.recovery != "none" && !gpu.errors.repair_pending)
    add(Severity::risk, fmt::format("asks for recovery: {}", gpu.recovery), kTakeOut);
}

void judge_mode(const Gpu& gpu, const Use& use, std::size_t gpus, Findings& findings) {
  const auto add = [&](Severity severity, const std::string& what) {
    findings.push_back(
        {cause::kGpuExclusive, severity, fmt::format("{} {}", title_of(gpu), what),
         fmt::format("nvidia-smi -i {} -c DEFAULT, by the administrator", gpu.index)});
  };
  const int devices = static_cast<int>(use.devices ? use.devices->size() : gpus);
  if (gpu.compute_mode == ComputeMode::prohibited) {
    add(Severity::blocks, "is in compute mode prohibited");
  } else if (gpu.compute_mode == ComputeMode::exclusive_process) {
    if (!others_on(gpu, use.own_pids).empty())
      add(Severity::blocks, fmt::format("takes one process, and pid {} is on it",
                                        others_on(gpu, use.own_pids).front().pid));
    else if (use.ranks > devices)
      add(Severity::blocks, fmt::format("takes one process, and {} ranks share {} GPU{}", use.ranks,
                                        devices, devices == 1 ? "" : "s"));
    else if (use.ranks > 1)
      add(Severity::risk,
          "takes one process: a second rank that touches it, as a wrong set_device does, fails");
  }
}

void judge_mig(const Gpu& gpu, const Use& use, Findings& findings) {
  if (!gpu.mig) return;
  const auto add = [&](Severity severity, const std::string& what) {
    findings.push_back(
        {cause::kMig, severity, fmt::format("{} is in MIG mode{}", title_of(gpu), what),
         fmt::format("nvidia-smi -i {} -mig 0 for a whole GPU, by the administrator", gpu.index)});
  };
  if (gpu.slices.empty())
    add(Severity::blocks, " and has no instance that a process could use");
  else
    add(use.ranks > 1 ? Severity::risk : Severity::note,
        gpu.slices.size() == 1
            ? std::string(": a process sees its one instance, and has neither P2P nor NVLink")
            : fmt::format(": a process sees one of its {} instances, and there is neither P2P nor "
                          "NVLink between them",
                          gpu.slices.size()));
}

/// Judges the fabric. A GPU that a virtual machine was given alone may stay unregistered and still
/// work.
void judge_fabric(const Gpu& gpu, bool alone, Findings& findings) {
  constexpr const char* kRemedy =
      "systemctl start nvidia-fabricmanager, of exactly the driver's version";
  const bool unfinished =
      gpu.fabric == FabricState::not_started || gpu.fabric == FabricState::in_progress;
  if (unfinished)
    findings.push_back(
        {cause::kFabricManager, alone ? Severity::risk : Severity::blocks,
         fmt::format("{} is not registered with the NVLink fabric (CUDA error 802)", title_of(gpu)),
         kRemedy});
  else if (!gpu.fabric_trouble.empty())
    findings.push_back(
        {cause::kFabricManager, Severity::risk,
         fmt::format("the NVLink fabric of {}: {}", title_of(gpu), gpu.fabric_trouble), kRemedy});
}

void judge_memory(const Gpu& gpu, const Use& use, Findings& findings) {
  // MiB: less than this is a desktop, or a context that does nothing.
  constexpr int kWorthAWord = 512;
  const auto [mib, holders] = held_by_others(gpu, use.own_pids);
  if (mib < kWorthAWord) return;
  const bool full = mib > gpu.memory_mib / 10 * 9;
  findings.push_back({cause::kGpuHeld, full ? Severity::blocks : Severity::risk,
                      fmt::format("{} of {} MiB of {} are in use by {}", mib, gpu.memory_mib,
                                  title_of(gpu), holders),
                      "safelaunch clean --dry-run tells whose they are"});
}

int major_of(std::string_view version) {
  return number_in<int>(version);
}

/// Compares the driver's CUDA with that of the framework. Within one major version a newer CUDA
/// runs on an older driver.
void judge_versions(const Facts& facts, const Use& use, Findings& findings) {
  if (facts.cuda.empty() || use.cuda.empty() || major_of(use.cuda) <= major_of(facts.cuda)) return;
  findings.push_back(
      {cause::kDriverOld, Severity::blocks,
       fmt::format("driver {} runs CUDA up to {}, and the job is built for CUDA {}", facts.driver,
                   facts.cuda, use.cuda),
       fmt::format("update the driver, or install a build for CUDA {}", major_of(facts.cuda))});
}

bool is_no_gpu(const Finding& finding) {
  return finding.cause == cause::kNoGpu;
}

bool is_about_none(Trouble trouble) {
  return trouble == Trouble::none || trouble == Trouble::no_driver;
}

}  // namespace

std::vector<Finding> gpu_findings(const Facts& facts, const Use& use) {
  Findings findings;
  judge_driver(facts, findings);
  judge_versions(facts, use, findings);
  for (const Gpu& gpu : facts.gpus) {
    if (use.devices && !is_one_of(gpu, *use.devices, facts.gpus)) continue;
    judge_health(gpu, findings);
    if (gpu.health != Health::well) continue;
    judge_mode(gpu, use, facts.gpus.size(), findings);
    judge_mig(gpu, use, findings);
    judge_fabric(gpu, facts.gpus.size() == 1, findings);
    judge_memory(gpu, use, findings);
  }
  return findings;
}

void add_visible_findings(const VisibleGpus& visible, const Facts& nvml, const Use& use,
                          std::vector<Finding>& findings) {
  const auto add = [&](const char* cause, Severity severity, std::string evidence,
                       const char* remedy) {
    findings.push_back({cause, severity, std::move(evidence), remedy});
  };
  const bool told_by_nvml = visible.trouble == nvml.trouble;
  const std::string without = fmt::format("{} here, and CUDA gets none: {}",
                                          use.gpus == 1 ? "a GPU is" : "GPUs are", visible.why);
  // Where CUDA works, the lack of NVML only means that nobody tells the state of the GPUs.
  if (!visible.names.empty() || use.gpus > 0) std::erase_if(findings, is_no_gpu);
  if (visible.trouble == Trouble::no_answer && !told_by_nvml)
    add(cause::kDriverSilent, Severity::blocks, visible.why, kLookAtKernel);
  else if (visible.trouble == Trouble::crashed && !told_by_nvml)
    add(cause::kGpuIll, Severity::blocks, visible.why, kLookAtKernel);
  else if (visible.trouble == Trouble::failed && use.gpus > 0)
    add(cause::kCudaUnknown, Severity::risk, without,
        "nvidia-smi -q; load nvidia_uvm again (after a suspend)");
  else if (visible.names.empty() && use.gpus > 0 && is_about_none(visible.trouble))
    add(cause::kNoGpu, Severity::risk, without,
        "in a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility, and its devices");
}

}  // namespace safelaunch::gpu
