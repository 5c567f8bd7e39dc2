// The GPUs that there are, and the identity of each.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "common/gpus.h"
#include "common/knobs.h"
#include "nvml/device.h"

namespace safelaunch::testing {
namespace {

constexpr int kMostGpus = 15;  // one hexadecimal digit of the PCI bus each
constexpr unsigned kMigInstances = 2;
constexpr unsigned kPciDevice = 0x233010de;

/// Whole GPUs first, then the MIG instances of GPU 0.
std::array<nvmlDevice_st, kMostGpus + kMigInstances> devices = [] {
  std::array<nvmlDevice_st, kMostGpus + kMigInstances> all{};
  for (int i = 0; i < kMostGpus; ++i) all[static_cast<std::size_t>(i)] = {i, -1};
  for (unsigned i = 0; i < kMigInstances; ++i) all[kMostGpus + i] = {0, static_cast<int>(i)};
  return all;
}();

std::string uuid_of(nvmlDevice_t device) {
  const std::string text = gpu_uuid_text(device->gpu);
  return device->instance < 0
             ? text
             : "MIG" + text.substr(3, text.size() - 4) + std::to_string(device->instance);
}

/// The first GPU for which `matches` holds.
template <class Matches>
nvmlReturn_t find(nvmlDevice_t* device, Matches matches) {
  if (const nvmlReturn_t result = nvml_initialised(); result != NVML_SUCCESS) return result;
  for (int i = 0; i < gpu_count(); ++i) {
    *device = &devices[static_cast<std::size_t>(i)];
    if (matches(*device)) return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

std::string nvml_bus_id(int gpu) {
  return "0000" + gpu_bus_id(gpu);
}  // eight digits for the domain

}  // namespace

bool is_ill(nvmlDevice_t device, std::string_view word) {
  return device->gpu == 0 && knob_has(kNvmlKnob, word);
}

nvmlReturn_t answers(nvmlDevice_t device) {
  if (const nvmlReturn_t result = nvml_initialised(); result != NVML_SUCCESS) return result;
  const bool is_lost = is_ill(device, "lost") || gpu_is_lost(device->gpu);
  return is_lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(gpu_count());
  return nvml_initialised();
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (const nvmlReturn_t result = nvml_initialised(); result != NVML_SUCCESS) return result;
  if (index >= static_cast<unsigned>(gpu_count())) return NVML_ERROR_INVALID_ARGUMENT;
  *device = &devices[index];
  return answers(*device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return find(device, [&](nvmlDevice_t one) { return uuid_of(one) == uuid; });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  return find(device, [&](nvmlDevice_t one) {
    return gpu_bus_id(one->gpu) == bus_id || nvml_bus_id(one->gpu) == bus_id;
  });
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  *index = static_cast<unsigned>(device->gpu);
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor) {
  return nvmlDeviceGetIndex(device, minor);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  std::snprintf(name, length, "%s%s", kGpuName, device->instance < 0 ? "" : " MIG 3g.40gb");
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  std::snprintf(uuid, length, "%s", uuid_of(device).c_str());
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  *pci = {};
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%s", gpu_bus_id(device->gpu).c_str());
  std::snprintf(pci->busId, sizeof pci->busId, "%s", nvml_bus_id(device->gpu).c_str());
  pci->bus = gpu_bus(device->gpu);
  pci->pciDeviceId = kPciDevice;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
  if (pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  *pci = {};
  pci->version = nvmlPciInfoExt_v1;
  std::snprintf(pci->busId, sizeof pci->busId, "%s", nvml_bus_id(device->gpu).c_str());
  pci->bus = gpu_bus(device->gpu);
  pci->pciDeviceId = kPciDevice;
  pci->baseClass = 3;  // display
  pci->subClass = 2;   // 3D
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  *current = *pending = is_ill(device, "mig") ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  *count = 7;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t* instance) {
  if (!is_ill(device, "mig") || index >= kMigInstances) return NVML_ERROR_NOT_FOUND;
  *instance = &devices[kMostGpus + index];
  return answers(device);
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is_instance) {
  *is_instance = device->instance >= 0;
  return nvml_initialised();
}
