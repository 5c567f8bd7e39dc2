#pragma once

#include "launcher/gpu/reader/nvml_api.h"

/// The further calls of this double, as nvml.h (CUDA 13.5) declares them: safelaunch makes none of
/// them, but torch, NCCL and programs like nvidia-smi do.

inline constexpr unsigned NVML_PCIE_LINK_MAX_SPEED_32000MBPS = 5;
inline constexpr long long nvmlEventTypeXidCriticalError = 8;

struct nvmlPciInfoExt_v1_t {
  unsigned version;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  unsigned baseClass;
  unsigned subClass;
  char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
};
using nvmlPciInfoExt_t = nvmlPciInfoExt_v1_t;
inline constexpr unsigned nvmlPciInfoExt_v1 = nvml_version<nvmlPciInfoExt_v1_t>(1);

struct nvmlConfComputeSystemState_st {
  unsigned environment;
  unsigned ccFeature;
  unsigned devToolsMode;
};
using nvmlConfComputeSystemState_t = nvmlConfComputeSystemState_st;

struct nvmlSystemConfComputeSettings_v1_t {
  unsigned version;
  unsigned environment;
  unsigned ccFeature;
  unsigned devToolsMode;
  unsigned multiGpuMode;
};
using nvmlSystemConfComputeSettings_t = nvmlSystemConfComputeSettings_v1_t;
inline constexpr unsigned nvmlSystemConfComputeSettings_v1 =
    nvml_version<nvmlSystemConfComputeSettings_v1_t>(1);

using nvmlEventSet_t = struct nvmlEventSet_st*;
struct nvmlEventData_st {
  nvmlDevice_t device;
  unsigned long long eventType;
  unsigned long long eventData;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};
using nvmlEventData_t = nvmlEventData_st;

enum nvmlNvLinkCapability_enum : unsigned {};
using nvmlNvLinkCapability_t = nvmlNvLinkCapability_enum;
struct nvmlPlatformInfo_v2_t;
using nvmlPlatformInfo_t = nvmlPlatformInfo_v2_t;

extern "C" {

nvmlReturn_t nvmlSystemGetNVMLVersion(char* text, unsigned length);
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version);
nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t* state);
nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t* settings);

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor);
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci);
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is_instance);
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode);
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending);
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link,
                                           nvmlNvLinkCapability_t capability, unsigned* has);
nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t device, unsigned* speed);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* generation);
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* width);
nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t* info);

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set);
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set);
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned patience);
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set);

}  // extern "C"
