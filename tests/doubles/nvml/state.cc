// The present state of a GPU: memory, processes, modes, errors.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "common/gpus.h"
#include "common/knobs.h"
#include "nvml/device.h"

namespace safelaunch::testing {
namespace {

constexpr unsigned long long kReserved = 521ULL << 20;  // the driver's own; never free

unsigned long long used_by_processes(nvmlDevice_t device) {
  const auto busy = busy_process(device);
  return busy ? busy->bytes : 0;
}

/// The double has no events but those of the knob `xid:N`, of which there is one.
std::optional<unsigned long long> take_xid() {
  static bool taken = false;
  const auto xid = knob_value(kNvmlKnob, "xid");
  if (!xid || taken) return std::nullopt;
  taken = true;
  return std::stoull(*xid);
}

nvmlReturn_t field_value(nvmlDevice_t device, unsigned field, unsigned& value) {
  switch (field) {
    case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION:
      value = is_ill(device, "ecc") ? NVML_GPU_RECOVERY_ACTION_GPU_RESET
                                    : NVML_GPU_RECOVERY_ACTION_NONE;
      return NVML_SUCCESS;
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
    case NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT: value = link_count(); return NVML_SUCCESS;
    case NVML_FI_DEV_NVLINK_GET_STATE: value = 1; return NVML_SUCCESS;
    default: return NVML_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

std::optional<BusyProcess> busy_process(nvmlDevice_t device) {
  const auto words = knob_value(kNvmlKnob, "busy");
  if (device->gpu != 0 || !words) return std::nullopt;
  const BusyProcess busy{static_cast<unsigned>(std::stoul(*words)),
                         std::stoull(words->substr(words->find(':') + 1)) << 20};
  const std::string folder = "/proc/" + std::to_string(busy.pid);
  return ::access(folder.c_str(), F_OK) == 0 ? std::optional(busy) : std::nullopt;
}

bool computes_for_nobody(nvmlDevice_t device) {
  const auto file = knob_value(kNvmlKnob, "spins");
  if (device->gpu != 0 || !file) return false;
  std::ofstream(*file + ".asked");
  return ::access(file->c_str(), F_OK) == 0;
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  memory->total = kGpuMemory;
  memory->used = kReserved + used_by_processes(device);
  memory->free = memory->total - memory->used;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  memory->total = kGpuMemory;
  memory->reserved = kReserved;
  memory->used = used_by_processes(device);
  memory->free = memory->total - memory->reserved - memory->used;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* work) {
  *work = {computes_for_nobody(device) ? 100U : busy_process(device) ? 97U : 0U, 0U};
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* infos) {
  if (const nvmlReturn_t result = answers(device); result != NVML_SUCCESS) return result;
  const auto busy = busy_process(device);
  const unsigned room = *count;
  *count = busy ? 1 : 0;
  if (!busy) return NVML_SUCCESS;
  if (room < 1) return NVML_ERROR_INSUFFICIENT_SIZE;
  infos[0] = {busy->pid, busy->bytes, 0xFFFFFFFF, 0xFFFFFFFF};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  *mode = NVML_FEATURE_ENABLED;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  *mode =
      is_ill(device, "exclusive") ? NVML_COMPUTEMODE_EXCLUSIVE_PROCESS : NVML_COMPUTEMODE_DEFAULT;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending) {
  *current = *pending = NVML_FEATURE_ENABLED;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t, unsigned long long* count) {
  *count = is_ill(device, "ecc") && type == NVML_MEMORY_ERROR_TYPE_UNCORRECTED ? 3 : 0;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* correctable,
                                       unsigned* uncorrectable, unsigned* pending,
                                       unsigned* failed) {
  *correctable = *failed = 0;
  *uncorrectable = *pending = is_ill(device, "ecc");
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t, nvmlEnableState_t*) {
  return NVML_ERROR_NOT_SUPPORTED;  // as on all GPUs that remap rows
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  if (const nvmlReturn_t result = answers(device); result != NVML_SUCCESS) return result;
  for (int i = 0; i < count; ++i) {
    values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    values[i].nvmlReturn = field_value(device, values[i].fieldId, values[i].value.uiVal);
  }
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  static char any;
  *set = reinterpret_cast<nvmlEventSet_t>(&any);  // nobody looks into it
  return nvml_initialised();
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long, nvmlEventSet_t) {
  return answers(device);
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t, nvmlEventData_t* data, unsigned timeout_ms) {
  if (const auto xid = take_xid()) {
    *data = {};
    nvmlDeviceGetHandleByIndex_v2(0, &data->device);
    data->eventType = nvmlEventTypeXidCriticalError;
    data->eventData = *xid;
    return NVML_SUCCESS;
  }
  ::usleep(timeout_ms * 1000);
  return NVML_ERROR_TIMEOUT;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t) {
  return nvml_initialised();
}
