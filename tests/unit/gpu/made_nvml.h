#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/gpu/reader/questions.h"

namespace safelaunch::testing {

/// A link of a GPU in a MadeNvml.
struct MadeLink {
  bool active = true;
  bool to_switch = true;
  std::string peer{};
};

/// The answers of a MadeNvml on one GPU. A healthy H100 with nothing on it.
struct MadeNvmlGpu {
  std::string uuid = "GPU-1";
  std::string name = "NVIDIA H100";
  std::string pci = "00000000:FF:1F.7";
  unsigned long long total = 81'920ULL << 20;
  unsigned long long used = 0;
  std::vector<std::pair<unsigned, unsigned long long>> processes{};  ///< pid, bytes
  std::vector<std::pair<unsigned, unsigned long long>> mps{};        ///< the same under MPS
  unsigned compute_mode = NVML_COMPUTEMODE_DEFAULT;
  bool mig = false;
  unsigned most_slices = 7;
  std::vector<std::string> slices{};
  unsigned long long uncorrected = 0;
  bool rows_pending = false, rows_failed = false, pages_pending = false;
  std::map<unsigned, nvmlFieldValue_t> fields{};
  nvmlGpuFabricInfoV_t fabric{};
  std::vector<MadeLink> links{};
  unsigned p2p_read = NVML_P2P_STATUS_OK, p2p_write = NVML_P2P_STATUS_OK;
  unsigned level = NVML_TOPOLOGY_NODE;
  nvmlReturn_t handle = NVML_SUCCESS;
};

inline nvmlFieldValue_t made_field(unsigned value,
                                   nvmlValueType_t type = NVML_VALUE_TYPE_UNSIGNED_INT) {
  nvmlFieldValue_t field{};
  field.valueType = type;
  field.value.ullVal = value;
  return field;
}

/// An NVML whose answers a test makes up. One at a time, since NVML's functions have no object.
class MadeNvml {
 public:
  std::vector<MadeNvmlGpu> gpus{1};
  std::set<std::string> missing{};               ///< functions that this driver lacks
  std::map<std::string, nvmlReturn_t> errors{};  ///< function → what it answers
  std::string driver = "580.95.05";
  int cuda = 13'000;
  std::vector<std::string> calls{};

  MadeNvml() { current() = this; }
  MadeNvml(const MadeNvml&) = delete;
  MadeNvml& operator=(const MadeNvml&) = delete;
  ~MadeNvml() { current() = nullptr; }

  /// The lines that are said of it, and the exit status.
  std::pair<std::vector<std::string>, int> told() {
    std::vector<std::string> lines;
    const gpu::Nvml nvml(symbols());
    const int status =
        gpu::tell_gpu_facts(nvml, [&](const std::string& line) { lines.push_back(line); });
    return {lines, status};
  }

  gpu::Nvml::Symbols symbols() {
    return [this](const char* name) -> void* {
      const auto found = functions().find(name);
      return missing.contains(name) || found == functions().end() ? nullptr : found->second;
    };
  }

 private:
  struct Table : std::map<std::string, void*> {
    template <class Function>
    void put(const char* name, Function* function) {
      (*this)[name] = reinterpret_cast<void*>(function);
    }
  };

  static MadeNvml*& current() {
    static MadeNvml* made = nullptr;
    return made;
  }

  static nvmlReturn_t answer(const char* function) {
    current()->calls.emplace_back(function);
    const auto error = current()->errors.find(function);
    return error == current()->errors.end() ? NVML_SUCCESS : error->second;
  }

  /// GPU i has the handle i + 1, slice s of GPU 0 the handle 1000 + s.
  static nvmlDevice_t handle(std::size_t number) {
    return reinterpret_cast<nvmlDevice_t>(number + 1);
  }
  static std::size_t number_of(nvmlDevice_t device) {
    return reinterpret_cast<std::size_t>(device) - 1;
  }
  static constexpr std::size_t kFirstSlice = 1'000;
  static MadeNvmlGpu gpu_of(nvmlDevice_t device) {
    const std::size_t number = number_of(device);
    if (number < kFirstSlice) return current()->gpus.at(number);
    MadeNvmlGpu slice;
    slice.uuid = current()->gpus.front().slices.at(number - kFirstSlice);
    slice.total = 40'192ULL << 20;
    return slice;
  }

  static void write(char* to, unsigned size, const std::string& text) {
    std::memset(to, 'x', size);  // a driver may leave what was there, and end no text
    std::memcpy(to, text.c_str(), std::min<std::size_t>(size, text.size() + 1));
  }

  static nvmlReturn_t give(const std::vector<std::pair<unsigned, unsigned long long>>& processes,
                           unsigned* count, nvmlProcessInfo_t* infos) {
    if (processes.size() > *count) return NVML_ERROR_INSUFFICIENT_SIZE;
    *count = static_cast<unsigned>(processes.size());
    for (std::size_t i = 0; i < processes.size(); ++i)
      infos[i] = {processes[i].first, processes[i].second, 0, 0};
    return NVML_SUCCESS;
  }

  static const Table& functions() {
    static const Table kTable = made_table();
    return kTable;
  }

  static Table made_table() {
    Table table;
    put_system(table);
    put_identity(table);
    put_state(table);
    put_ways(table);
    return table;
  }

  static void put_system(Table& table) {
    table.put(
        "nvmlInitWithFlags", +[](unsigned) { return answer("nvmlInitWithFlags"); });
    table.put(
        "nvmlInit_v2", +[] { return answer("nvmlInit_v2"); });
    table.put(
        "nvmlShutdown", +[] { return answer("nvmlShutdown"); });
    table.put(
        "nvmlErrorString", +[](nvmlReturn_t error) -> const char* {
          return error == NVML_ERROR_GPU_IS_LOST ? "GPU is lost" : "Some Error";
        });
    table.put(
        "nvmlSystemGetDriverVersion", +[](char* text, unsigned size) {
          write(text, size, current()->driver);
          return answer("nvmlSystemGetDriverVersion");
        });
    table.put(
        "nvmlSystemGetCudaDriverVersion_v2", +[](int* version) {
          *version = current()->cuda;
          return answer("nvmlSystemGetCudaDriverVersion_v2");
        });
    table.put(
        "nvmlDeviceGetCount_v2", +[](unsigned* count) {
          *count = static_cast<unsigned>(current()->gpus.size());
          return answer("nvmlDeviceGetCount_v2");
        });
    table.put(
        "nvmlDeviceGetHandleByIndex_v2", +[](unsigned index, nvmlDevice_t* device) {
          *device = handle(index);
          return current()->gpus.at(index).handle;
        });
  }

  static void put_identity(Table& table) {
    table.put(
        "nvmlDeviceGetUUID", +[](nvmlDevice_t device, char* text, unsigned size) {
          write(text, size, gpu_of(device).uuid);
          return answer("nvmlDeviceGetUUID");
        });
    table.put(
        "nvmlDeviceGetName", +[](nvmlDevice_t device, char* text, unsigned size) {
          write(text, size, gpu_of(device).name);
          return answer("nvmlDeviceGetName");
        });
    table.put(
        "nvmlDeviceGetPciInfo_v3", +[](nvmlDevice_t device, nvmlPciInfo_t* pci) {
          write(pci->busId, sizeof pci->busId, gpu_of(device).pci);
          write(pci->busIdLegacy, sizeof pci->busIdLegacy, gpu_of(device).pci.substr(4));
          return answer("nvmlDeviceGetPciInfo_v3");
        });
    table.put(
        "nvmlDeviceGetCudaComputeCapability", +[](nvmlDevice_t, int* major, int* minor) {
          *major = 9;
          *minor = 0;
          return answer("nvmlDeviceGetCudaComputeCapability");
        });
    table.put(
        "nvmlDeviceGetMemoryInfo_v2", +[](nvmlDevice_t device, nvmlMemory_v2_t* memory) {
          memory->total = gpu_of(device).total;
          memory->used = gpu_of(device).used;
          return answer("nvmlDeviceGetMemoryInfo_v2");
        });
    table.put(
        "nvmlDeviceGetMemoryInfo", +[](nvmlDevice_t device, nvmlMemory_t* memory) {
          memory->total = gpu_of(device).total;
          memory->used = gpu_of(device).used + (300ULL << 20);  // with the driver's own
          return answer("nvmlDeviceGetMemoryInfo");
        });
  }

  static void put_state(Table& table) {
    table.put(
        "nvmlDeviceGetUtilizationRates", +[](nvmlDevice_t, nvmlUtilization_t* work) {
          work->gpu = 97;
          return answer("nvmlDeviceGetUtilizationRates");
        });
    table.put(
        "nvmlDeviceGetComputeRunningProcesses_v3",
        +[](nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) {
          const auto given = give(gpu_of(device).processes, count, infos);
          return given == NVML_SUCCESS ? answer("nvmlDeviceGetComputeRunningProcesses_v3") : given;
        });
    table.put(
        "nvmlDeviceGetMPSComputeRunningProcesses_v3",
        +[](nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) {
          return give(gpu_of(device).mps, count, infos);
        });
    table.put(
        "nvmlDeviceGetComputeMode", +[](nvmlDevice_t device, nvmlComputeMode_t* mode) {
          *mode = static_cast<nvmlComputeMode_t>(gpu_of(device).compute_mode);
          return answer("nvmlDeviceGetComputeMode");
        });
    table.put(
        "nvmlDeviceGetMigMode", +[](nvmlDevice_t device, unsigned* now, unsigned* pending) {
          *now = gpu_of(device).mig ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
          *pending = *now;
          return answer("nvmlDeviceGetMigMode");
        });
    table.put(
        "nvmlDeviceGetMaxMigDeviceCount", +[](nvmlDevice_t device, unsigned* most) {
          *most = gpu_of(device).most_slices;
          return answer("nvmlDeviceGetMaxMigDeviceCount");
        });
    table.put(
        "nvmlDeviceGetMigDeviceHandleByIndex",
        +[](nvmlDevice_t device, unsigned index, nvmlDevice_t* slice) {
          (void)answer("nvmlDeviceGetMigDeviceHandleByIndex");
          const auto& slices = gpu_of(device).slices;
          if (index >= slices.size() || slices[index].empty()) return NVML_ERROR_NOT_FOUND;
          *slice = handle(kFirstSlice + index);
          return NVML_SUCCESS;
        });
    table.put(
        "nvmlDeviceGetFieldValues", +[](nvmlDevice_t device, int, nvmlFieldValue_t* value) {
          const auto& fields = gpu_of(device).fields;
          const auto found = fields.find(value->fieldId);
          if (found == fields.end())
            value->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
          else
            *value = found->second;
          return answer("nvmlDeviceGetFieldValues");
        });
    table.put(
        "nvmlDeviceGetTotalEccErrors", +[](nvmlDevice_t device, nvmlMemoryErrorType_t,
                                           nvmlEccCounterType_t, unsigned long long* count) {
          *count = gpu_of(device).uncorrected;
          return answer("nvmlDeviceGetTotalEccErrors");
        });
    table.put(
        "nvmlDeviceGetRemappedRows",
        +[](nvmlDevice_t device, unsigned*, unsigned*, unsigned* pending, unsigned* failed) {
          *pending = gpu_of(device).rows_pending ? 1 : 0;
          *failed = gpu_of(device).rows_failed ? 1 : 0;
          return answer("nvmlDeviceGetRemappedRows");
        });
    table.put(
        "nvmlDeviceGetRetiredPagesPendingStatus",
        +[](nvmlDevice_t device, nvmlEnableState_t* pending) {
          *pending = gpu_of(device).pages_pending ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
          return answer("nvmlDeviceGetRetiredPagesPendingStatus");
        });
  }

  static void put_ways(Table& table) {
    table.put(
        "nvmlDeviceGetGpuFabricInfoV", +[](nvmlDevice_t device, nvmlGpuFabricInfoV_t* info) {
          if (info->version != nvmlGpuFabricInfo_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
          *info = gpu_of(device).fabric;
          return answer("nvmlDeviceGetGpuFabricInfoV");
        });
    table.put(
        "nvmlDeviceGetNvLinkState",
        +[](nvmlDevice_t device, unsigned link, nvmlEnableState_t* active) {
          const auto& links = gpu_of(device).links;
          if (link >= links.size()) return NVML_ERROR_INVALID_ARGUMENT;
          *active = links[link].active ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
          return answer("nvmlDeviceGetNvLinkState");
        });
    table.put(
        "nvmlDeviceGetNvLinkRemoteDeviceType",
        +[](nvmlDevice_t device, unsigned link, nvmlIntNvLinkDeviceType_t* type) {
          if (gpu_of(device).links.at(link).to_switch) *type = NVML_NVLINK_DEVICE_TYPE_SWITCH;
          return answer("nvmlDeviceGetNvLinkRemoteDeviceType");
        });
    table.put(
        "nvmlDeviceGetNvLinkRemotePciInfo_v2",
        +[](nvmlDevice_t device, unsigned link, nvmlPciInfo_t* pci) {
          write(pci->busId, sizeof pci->busId, gpu_of(device).links.at(link).peer);
          return answer("nvmlDeviceGetNvLinkRemotePciInfo_v2");
        });
    table.put(
        "nvmlDeviceGetTopologyCommonAncestor",
        +[](nvmlDevice_t device, nvmlDevice_t, nvmlGpuTopologyLevel_t* level) {
          *level = static_cast<nvmlGpuTopologyLevel_t>(gpu_of(device).level);
          return answer("nvmlDeviceGetTopologyCommonAncestor");
        });
    table.put(
        "nvmlDeviceGetP2PStatus", +[](nvmlDevice_t device, nvmlDevice_t, nvmlGpuP2PCapsIndex_t what,
                                      nvmlGpuP2PStatus_t* status) {
          const MadeNvmlGpu gpu = gpu_of(device);
          *status = static_cast<nvmlGpuP2PStatus_t>(
              what == NVML_P2P_CAPS_INDEX_READ ? gpu.p2p_read : gpu.p2p_write);
          return answer("nvmlDeviceGetP2PStatus");
        });
  }
};

}  // namespace safelaunch::testing
