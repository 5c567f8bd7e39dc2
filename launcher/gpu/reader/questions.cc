#include "questions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <limits>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/proc.h"

// A question that the driver does not know leaves its fact empty; "GPU is lost" is kept from
// whichever question tells it. A sick driver may answer with any bytes, so no text of it is taken
// to end by itself and no count to be small.
namespace safelaunch::gpu {
namespace {

constexpr unsigned long long kMiB = 1ULL << 20;
constexpr std::size_t kMostProcesses = 256;
constexpr unsigned kMostSlices = 64;  // a GPU has seven at most

int mebibytes(unsigned long long bytes) {
  constexpr unsigned long long kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(bytes / kMiB, kMost));
}

/// A text that the driver has written into a buffer, perhaps up to its last byte.
template <class Buffer>
std::string text_in(const Buffer& buffer) {
  return {std::data(buffer), ::strnlen(std::data(buffer), std::size(buffer))};
}

/// One GPU and the questions about it. Any of the answers may say that the GPU is lost; that is
/// kept.
class GpuQuestions {
 public:
  GpuQuestions(const Nvml& nvml, nvmlDevice_t device, Gpu& gpu)
      : nvml_(nvml), device_(device), gpu_(gpu) {}

  void ask_identity();
  void ask_memory();
  void ask_work();
  void ask_processes(nvmlDevice_t device);
  void ask_modes();
  void ask_errors();
  void ask_fabric();
  void ask_links();
  void ask_path(nvmlDevice_t other, int index);

 private:
  /// Calls Nvml::call with the GPU as first argument; true where it answered.
  template <class Function, class... Args>
  bool ask(const char* name, Args... args) {
    return answered(nvml_.call<Function>(name, device_, args...));
  }

  bool answered(nvmlReturn_t result);
  [[nodiscard]] std::optional<unsigned> field(unsigned id);
  void ask_slices();
  [[nodiscard]] std::string peer_of(unsigned link);
  [[nodiscard]] std::string p2p(nvmlDevice_t other, nvmlGpuP2PCapsIndex_t what);

  const Nvml& nvml_;
  nvmlDevice_t device_;
  Gpu& gpu_;
};

bool GpuQuestions::answered(nvmlReturn_t result) {
  if (result == NVML_ERROR_GPU_IS_LOST) gpu_.health = Health::lost;
  if (result == NVML_ERROR_RESET_REQUIRED) gpu_.health = Health::reset_required;
  if (gpu_.health != Health::well && gpu_.trouble.empty()) gpu_.trouble = nvml_.words(result);
  return result == NVML_SUCCESS;
}

/// Reads the NUMA node from /sys by the PCI address, which needs no driver.
std::optional<int> numa_node_of(std::string address) {
  std::ranges::transform(address, address.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const host::SmallFile file(("/sys/bus/pci/devices/" + address + "/numa_node").c_str());
  const auto node = to_number(file.text());
  return node && *node >= 0 ? node : std::nullopt;
}

void GpuQuestions::ask_identity() {
  std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> text{};
  const auto size = static_cast<unsigned>(text.size());
  if (ask<decltype(nvmlDeviceGetUUID)>("nvmlDeviceGetUUID", text.data(), size))
    gpu_.uuid = text_in(text);
  if (ask<decltype(nvmlDeviceGetName)>("nvmlDeviceGetName", text.data(), size))
    gpu_.name = text_in(text);
  nvmlPciInfo_t pci{};
  if (ask<decltype(nvmlDeviceGetPciInfo_v3)>("nvmlDeviceGetPciInfo_v3", &pci)) {
    gpu_.pci = text_in(pci.busId);
    gpu_.numa_node = numa_node_of(text_in(pci.busIdLegacy));
  }
  int major = 0;
  int minor = 0;
  if (ask<decltype(nvmlDeviceGetCudaComputeCapability)>("nvmlDeviceGetCudaComputeCapability",
                                                        &major, &minor))
    gpu_.capability = fmt::format("{}.{}", major, minor);
}

void GpuQuestions::ask_memory() {
  nvmlMemory_v2_t memory{};
  memory.version = nvmlMemory_v2;
  nvmlMemory_t older{};
  // The older form counts the driver's own memory as used.
  if (ask<decltype(nvmlDeviceGetMemoryInfo_v2)>("nvmlDeviceGetMemoryInfo_v2", &memory)) {
    gpu_.memory_mib = mebibytes(memory.total);
    gpu_.used_mib = mebibytes(memory.used);
  } else if (ask<decltype(nvmlDeviceGetMemoryInfo)>("nvmlDeviceGetMemoryInfo", &older)) {
    gpu_.memory_mib = mebibytes(older.total);
    gpu_.used_mib = mebibytes(older.used);
  }
}

/// Says how busy the GPU was. Drivers do not tell it of a GPU in MIG mode.
void GpuQuestions::ask_work() {
  nvmlUtilization_t work{};
  if (ask<decltype(nvmlDeviceGetUtilizationRates)>("nvmlDeviceGetUtilizationRates", &work))
    gpu_.busy_percent = static_cast<int>(work.gpu);
}

/// Asks two lists, since under MPS the processes stand in a list of their own.
void GpuQuestions::ask_processes(nvmlDevice_t device) {
  for (const char* list :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"}) {
    std::array<nvmlProcessInfo_t, kMostProcesses> processes{};
    auto count = static_cast<unsigned>(processes.size());
    if (!answered(nvml_.call<decltype(nvmlDeviceGetComputeRunningProcesses_v3)>(
            list, device, &count, processes.data())))
      continue;
    for (unsigned i = 0; i < std::min<std::size_t>(count, kMostProcesses); ++i) {
      Process process{static_cast<int>(processes[i].pid), std::nullopt};
      constexpr auto kNotTold = std::numeric_limits<unsigned long long>::max();
      if (processes[i].usedGpuMemory != kNotTold)
        process.mib = mebibytes(processes[i].usedGpuMemory);
      if (std::ranges::find(gpu_.processes, process.pid, &Process::pid) == gpu_.processes.end())
        gpu_.processes.push_back(process);
    }
  }
}

void GpuQuestions::ask_modes() {
  nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
  if (ask<decltype(nvmlDeviceGetComputeMode)>("nvmlDeviceGetComputeMode", &mode))
    gpu_.compute_mode = mode == NVML_COMPUTEMODE_DEFAULT      ? ComputeMode::shared
                        : mode == NVML_COMPUTEMODE_PROHIBITED ? ComputeMode::prohibited
                                                              : ComputeMode::exclusive_process;
  unsigned current = 0;
  unsigned pending = 0;
  gpu_.mig = ask<decltype(nvmlDeviceGetMigMode)>("nvmlDeviceGetMigMode", &current, &pending) &&
             current == NVML_DEVICE_MIG_ENABLE;
  if (gpu_.mig) ask_slices();
}

void GpuQuestions::ask_slices() {
  unsigned most = 0;
  if (!ask<decltype(nvmlDeviceGetMaxMigDeviceCount)>("nvmlDeviceGetMaxMigDeviceCount", &most))
    return;
  for (unsigned i = 0; i < std::min(most, kMostSlices); ++i) {
    nvmlDevice_t slice = nullptr;
    if (!ask<decltype(nvmlDeviceGetMigDeviceHandleByIndex)>("nvmlDeviceGetMigDeviceHandleByIndex",
                                                            i, &slice))
      continue;
    Gpu as_gpu;
    GpuQuestions questions(nvml_, slice, as_gpu);
    questions.ask_identity();
    questions.ask_memory();
    gpu_.slices.push_back({as_gpu.uuid, as_gpu.memory_mib});
    ask_processes(slice);
  }
}

/// Reads a number of any type: NVML does not document which one a driver uses for small numbers.
std::optional<unsigned> small_number(const nvmlFieldValue_t& field) {
  switch (field.valueType) {
    case NVML_VALUE_TYPE_UNSIGNED_INT: return field.value.uiVal;
    case NVML_VALUE_TYPE_SIGNED_INT: return static_cast<unsigned>(field.value.siVal);
    case NVML_VALUE_TYPE_UNSIGNED_LONG: return static_cast<unsigned>(field.value.ulVal);
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: return static_cast<unsigned>(field.value.ullVal);
    default: return std::nullopt;
  }
}

std::optional<unsigned> GpuQuestions::field(unsigned id) {
  nvmlFieldValue_t value{};
  value.fieldId = id;
  const bool told =
      ask<decltype(nvmlDeviceGetFieldValues)>("nvmlDeviceGetFieldValues", 1, &value) &&
      value.nvmlReturn == NVML_SUCCESS;
  return told ? small_number(value) : std::nullopt;
}

const char* recovery_word(unsigned action) {
  switch (action) {
    case NVML_GPU_RECOVERY_ACTION_NONE: return "none";
    case NVML_GPU_RECOVERY_ACTION_GPU_RESET: return "reset";
    case NVML_GPU_RECOVERY_ACTION_NODE_REBOOT: [[fallthrough]];
    case NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT: return "reboot";
    case NVML_GPU_RECOVERY_ACTION_DRAIN_P2P: return "drain";
    case NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET: return "drain and reset";
    case NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN: return "recover the IMEX domain";
    case NVML_GPU_RECOVERY_ACTION_BUS_RESET: return "bus reset";
    default: return "unknown";
  }
}

void GpuQuestions::ask_errors() {
  unsigned long long uncorrected = 0;
  if (ask<decltype(nvmlDeviceGetTotalEccErrors)>("nvmlDeviceGetTotalEccErrors",
                                                 NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                                 NVML_VOLATILE_ECC, &uncorrected))
    gpu_.errors.uncorrected = static_cast<std::int64_t>(
        std::min<unsigned long long>(uncorrected, std::numeric_limits<std::int64_t>::max()));
  unsigned correctable = 0;
  unsigned uncorrectable = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  nvmlEnableState_t retiring = NVML_FEATURE_DISABLED;
  if (ask<decltype(nvmlDeviceGetRemappedRows)>("nvmlDeviceGetRemappedRows", &correctable,
                                               &uncorrectable, &pending, &failed)) {
    gpu_.errors.repair_pending = pending != 0;
    gpu_.errors.repair_failed = failed != 0;
  } else if (ask<decltype(nvmlDeviceGetRetiredPagesPendingStatus)>(
                 "nvmlDeviceGetRetiredPagesPendingStatus", &retiring)) {
    gpu_.errors.repair_pending = retiring == NVML_FEATURE_ENABLED;
  }
  if (const auto action = field(NVML_FI_DEV_GET_GPU_RECOVERY_ACTION))
    gpu_.recovery = recovery_word(*action);
}

FabricState fabric_state(unsigned state) {
  switch (state) {
    case NVML_GPU_FABRIC_STATE_NOT_SUPPORTED: return FabricState::unsupported;
    case NVML_GPU_FABRIC_STATE_NOT_STARTED: return FabricState::not_started;
    case NVML_GPU_FABRIC_STATE_IN_PROGRESS: return FabricState::in_progress;
    case NVML_GPU_FABRIC_STATE_COMPLETED: return FabricState::completed;
    default: return FabricState::unknown;
  }
}

bool has_unhealthy_route(unsigned health) {
  return (health >> NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY &
          NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_UNHEALTHY) ==
         NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_TRUE;
}

/// Asks by version 2 of the structure: the oldest that drivers still take, and it has all that we
/// need.
void GpuQuestions::ask_fabric() {
  nvmlGpuFabricInfoV_t info{};
  info.version = nvmlGpuFabricInfo_v2;
  if (!ask<decltype(nvmlDeviceGetGpuFabricInfoV)>("nvmlDeviceGetGpuFabricInfoV", &info)) return;
  gpu_.fabric = fabric_state(info.state);
  if (gpu_.fabric != FabricState::completed) return;
  if (info.status != NVML_SUCCESS)
    gpu_.fabric_trouble = nvml_.words(info.status);
  else if (has_unhealthy_route(info.healthMask))
    gpu_.fabric_trouble = "a route of the fabric is unhealthy";
}

std::string GpuQuestions::peer_of(unsigned link) {
  nvmlIntNvLinkDeviceType_t kind = NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
  (void)ask<decltype(nvmlDeviceGetNvLinkRemoteDeviceType)>("nvmlDeviceGetNvLinkRemoteDeviceType",
                                                           link, &kind);
  if (kind == NVML_NVLINK_DEVICE_TYPE_SWITCH) return "switch";
  nvmlPciInfo_t pci{};
  return ask<decltype(nvmlDeviceGetNvLinkRemotePciInfo_v2)>("nvmlDeviceGetNvLinkRemotePciInfo_v2",
                                                            link, &pci)
             ? text_in(pci.busId)
             : std::string();
}

void GpuQuestions::ask_links() {
  constexpr unsigned kMost = NVML_NVLINK_MAX_LINKS;
  const unsigned count = std::min(kMost, field(NVML_FI_DEV_NVLINK_LINK_COUNT).value_or(kMost));
  for (unsigned link = 0; link < count; ++link) {
    nvmlEnableState_t active = NVML_FEATURE_DISABLED;
    if (!ask<decltype(nvmlDeviceGetNvLinkState)>("nvmlDeviceGetNvLinkState", link, &active)) return;
    const bool is_active = active == NVML_FEATURE_ENABLED;
    gpu_.links.push_back(
        {static_cast<int>(link), is_active, is_active ? peer_of(link) : std::string()});
  }
}

const char* p2p_word(nvmlGpuP2PStatus_t status) {
  switch (status) {
    case NVML_P2P_STATUS_OK: return "ok";
    case NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED: return "chipset";
    case NVML_P2P_STATUS_GPU_NOT_SUPPORTED: return "gpu";
    case NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED: return "topology";
    case NVML_P2P_STATUS_DISABLED_BY_REGKEY: return "disabled";
    case NVML_P2P_STATUS_NOT_SUPPORTED: return "unsupported";
    default: return "unknown";
  }
}

std::string GpuQuestions::p2p(nvmlDevice_t other, nvmlGpuP2PCapsIndex_t what) {
  nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;
  const bool told =
      ask<decltype(nvmlDeviceGetP2PStatus)>("nvmlDeviceGetP2PStatus", other, what, &status);
  return told ? p2p_word(status) : std::string();
}

/// The words that `nvidia-smi topo -m` uses.
const char* level_word(nvmlGpuTopologyLevel_t level) {
  switch (level) {
    case NVML_TOPOLOGY_INTERNAL: return "internal";
    case NVML_TOPOLOGY_SINGLE: return "PIX";
    case NVML_TOPOLOGY_MULTIPLE: return "PXB";
    case NVML_TOPOLOGY_HOSTBRIDGE: return "PHB";
    case NVML_TOPOLOGY_NODE: return "NODE";
    case NVML_TOPOLOGY_SYSTEM: return "SYS";
    default: return "unknown";
  }
}

void GpuQuestions::ask_path(nvmlDevice_t other, int index) {
  Path path;
  path.to = index;
  path.p2p_read = p2p(other, NVML_P2P_CAPS_INDEX_READ);
  path.p2p_write = p2p(other, NVML_P2P_CAPS_INDEX_WRITE);
  nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
  if (ask<decltype(nvmlDeviceGetTopologyCommonAncestor)>("nvmlDeviceGetTopologyCommonAncestor",
                                                         other, &level))
    path.nearest = level_word(level);
  gpu_.paths.push_back(std::move(path));
}

Health health_of(nvmlReturn_t result) {
  if (result == NVML_ERROR_GPU_IS_LOST) return Health::lost;
  return result == NVML_ERROR_RESET_REQUIRED ? Health::reset_required : Health::failing;
}

}  // namespace

Gpu ask_about_gpu(const Nvml& nvml, std::span<const Handle> gpus, int index) {
  Gpu gpu;
  gpu.index = index;
  const Handle& handle = gpus[static_cast<std::size_t>(index)];
  if (handle.result != NVML_SUCCESS) {
    gpu.health = health_of(handle.result);
    gpu.trouble = nvml.words(handle.result);
    return gpu;
  }
  GpuQuestions questions(nvml, handle.device, gpu);
  questions.ask_identity();
  questions.ask_memory();
  questions.ask_work();
  questions.ask_processes(handle.device);
  questions.ask_modes();
  questions.ask_errors();
  questions.ask_fabric();
  questions.ask_links();
  for (std::size_t other = 0; other < gpus.size(); ++other)
    if (gpus[other].device != nullptr && gpus[other].device != handle.device)
      questions.ask_path(gpus[other].device, static_cast<int>(other));
  return gpu;
}

}  // namespace safelaunch::gpu
