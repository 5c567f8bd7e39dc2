#pragma once

/// The part of NVIDIA's management library that we use, under NVIDIA's names, so that nothing of
/// NVIDIA's is needed to build: libnvidia-ml.so.1 is opened at run time. Names, values and
/// signatures are those of nvml.h (CUDA 13.5); a driver that is older lacks functions, and never
/// has others under their names. A structure whose form changed has its version in its first field,
/// and a driver takes each version that it knows. tests/unit/gpu/api compares all of it
/// with the real header.
///
/// The enumerations hold the values that we use. They have a fixed type, since a driver may answer
/// with any other.

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
using nvmlDevice_t = struct nvmlDevice_st*;

enum nvmlReturn_enum : unsigned {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_LIBRARY_NOT_FOUND = 12,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_RESET_REQUIRED = 16,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
};
using nvmlReturn_t = nvmlReturn_enum;

inline constexpr unsigned NVML_INIT_FLAG_NO_GPUS = 1;
inline constexpr unsigned NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE = 80;
inline constexpr unsigned NVML_DEVICE_UUID_V2_BUFFER_SIZE = 96;
inline constexpr unsigned NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE = 32;
inline constexpr unsigned NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE = 16;
inline constexpr unsigned NVML_DEVICE_MIG_DISABLE = 0;
inline constexpr unsigned NVML_DEVICE_MIG_ENABLE = 1;
inline constexpr unsigned NVML_NVLINK_MAX_LINKS = 36;

/// The first field of a structure with versions holds its size and its version.
template <class Structure>
constexpr unsigned nvml_version(unsigned number) {
  return static_cast<unsigned>(sizeof(Structure)) | number << 24;
}

struct nvmlPciInfo_st {
  char busIdLegacy[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
};
using nvmlPciInfo_t = nvmlPciInfo_st;

struct nvmlMemory_st {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
using nvmlMemory_t = nvmlMemory_st;

struct nvmlMemory_v2_st {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
using nvmlMemory_v2_t = nvmlMemory_v2_st;
inline constexpr unsigned nvmlMemory_v2 = nvml_version<nvmlMemory_v2_t>(2);

struct nvmlUtilization_st {
  unsigned gpu;
  unsigned memory;
};
using nvmlUtilization_t = nvmlUtilization_st;

struct nvmlProcessInfo_v2_st {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
};
using nvmlProcessInfo_t = nvmlProcessInfo_v2_st;

enum nvmlEnableState_enum : unsigned { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 };
using nvmlEnableState_t = nvmlEnableState_enum;

enum nvmlComputeMode_enum : unsigned {
  NVML_COMPUTEMODE_DEFAULT = 0,
  NVML_COMPUTEMODE_PROHIBITED = 2,
  NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
};
using nvmlComputeMode_t = nvmlComputeMode_enum;

enum nvmlMemoryErrorType_enum : unsigned { NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 };
using nvmlMemoryErrorType_t = nvmlMemoryErrorType_enum;
enum nvmlEccCounterType_enum : unsigned { NVML_VOLATILE_ECC = 0 };
using nvmlEccCounterType_t = nvmlEccCounterType_enum;

/// A number of any kind, which is asked for by the number of its field.
inline constexpr unsigned NVML_FI_DEV_NVLINK_LINK_COUNT = 91;
inline constexpr unsigned NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT = 147;
inline constexpr unsigned NVML_FI_DEV_NVLINK_GET_STATE = 165;
inline constexpr unsigned NVML_FI_DEV_GET_GPU_RECOVERY_ACTION = 230;

enum nvmlValueType_enum : unsigned {
  NVML_VALUE_TYPE_UNSIGNED_INT = 1,
  NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
  NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
  NVML_VALUE_TYPE_SIGNED_INT = 5,
};
using nvmlValueType_t = nvmlValueType_enum;

union nvmlValue_st {
  double dVal;
  int siVal;
  unsigned uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
};
using nvmlValue_t = nvmlValue_st;

struct nvmlFieldValue_st {
  unsigned fieldId;
  unsigned scopeId;
  long long timestamp;
  long long latencyUsec;
  nvmlValueType_t valueType;
  nvmlReturn_t nvmlReturn;
  nvmlValue_t value;
};
using nvmlFieldValue_t = nvmlFieldValue_st;

/// The answers to NVML_FI_DEV_GET_GPU_RECOVERY_ACTION.
enum nvmlDeviceGpuRecoveryAction_s : unsigned {
  NVML_GPU_RECOVERY_ACTION_NONE = 0,
  NVML_GPU_RECOVERY_ACTION_GPU_RESET = 1,
  NVML_GPU_RECOVERY_ACTION_NODE_REBOOT = 2,
  NVML_GPU_RECOVERY_ACTION_DRAIN_P2P = 3,
  NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET = 4,
  NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN = 5,
  NVML_GPU_RECOVERY_ACTION_BUS_RESET = 6,
  NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT = 7,
};

using nvmlGpuFabricState_t = unsigned char;
inline constexpr nvmlGpuFabricState_t NVML_GPU_FABRIC_STATE_NOT_SUPPORTED = 0;
inline constexpr nvmlGpuFabricState_t NVML_GPU_FABRIC_STATE_NOT_STARTED = 1;
inline constexpr nvmlGpuFabricState_t NVML_GPU_FABRIC_STATE_IN_PROGRESS = 2;
inline constexpr nvmlGpuFabricState_t NVML_GPU_FABRIC_STATE_COMPLETED = 3;

struct nvmlGpuFabricInfo_v2_t {
  unsigned version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned cliqueId;
  nvmlGpuFabricState_t state;
  unsigned healthMask;
};
inline constexpr unsigned nvmlGpuFabricInfo_v2 = nvml_version<nvmlGpuFabricInfo_v2_t>(2);

/// The structure that the call takes: the newest version, which begins as version 2 does.
struct nvmlGpuFabricInfo_v3_t {
  unsigned version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned cliqueId;
  nvmlGpuFabricState_t state;
  unsigned healthMask;
  unsigned char healthSummary;
};
using nvmlGpuFabricInfoV_t = nvmlGpuFabricInfo_v3_t;
inline constexpr unsigned nvmlGpuFabricInfo_v3 = nvml_version<nvmlGpuFabricInfo_v3_t>(3);

/// Two bits of the health mask say whether a route is unhealthy.
inline constexpr unsigned NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY = 4;
inline constexpr unsigned NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_UNHEALTHY = 0x3;
inline constexpr unsigned NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_TRUE = 1;

enum nvmlIntNvLinkDeviceType_enum : unsigned {
  NVML_NVLINK_DEVICE_TYPE_SWITCH = 2,
  NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 255,
};
using nvmlIntNvLinkDeviceType_t = nvmlIntNvLinkDeviceType_enum;

enum nvmlGpuP2PStatus_enum : unsigned {
  NVML_P2P_STATUS_OK = 0,
  NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED = 1,
  NVML_P2P_STATUS_GPU_NOT_SUPPORTED = 2,
  NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED = 3,
  NVML_P2P_STATUS_DISABLED_BY_REGKEY = 4,
  NVML_P2P_STATUS_NOT_SUPPORTED = 5,
  NVML_P2P_STATUS_UNKNOWN = 6,
};
using nvmlGpuP2PStatus_t = nvmlGpuP2PStatus_enum;

enum nvmlGpuP2PCapsIndex_enum : unsigned {
  NVML_P2P_CAPS_INDEX_READ = 0,
  NVML_P2P_CAPS_INDEX_WRITE = 1,
};
using nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_enum;

enum nvmlGpuLevel_enum : unsigned {
  NVML_TOPOLOGY_INTERNAL = 0,
  NVML_TOPOLOGY_SINGLE = 10,
  NVML_TOPOLOGY_MULTIPLE = 20,
  NVML_TOPOLOGY_HOSTBRIDGE = 30,
  NVML_TOPOLOGY_NODE = 40,
  NVML_TOPOLOGY_SYSTEM = 50,
};
using nvmlGpuTopologyLevel_t = nvmlGpuLevel_enum;

extern "C" {

nvmlReturn_t nvmlInitWithFlags(unsigned flags);
nvmlReturn_t nvmlInit_v2();
nvmlReturn_t nvmlShutdown();
const char* nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned length);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version);

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci);
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor);

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* work);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* infos);
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                        nvmlProcessInfo_t* infos);

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode);
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending);
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count);
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t* instance);

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long* count);
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* correctable,
                                       unsigned* uncorrectable, unsigned* pending,
                                       unsigned* failed);
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device,
                                                    nvmlEnableState_t* pending);

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info);
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link,
                                      nvmlEnableState_t* active);
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link,
                                                 nvmlIntNvLinkDeviceType_t* type);
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                                 nvmlPciInfo_t* pci);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                 nvmlGpuTopologyLevel_t* level);
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other,
                                    nvmlGpuP2PCapsIndex_t what, nvmlGpuP2PStatus_t* status);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
