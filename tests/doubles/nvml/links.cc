// How the GPUs are joined: NVLink over NVSwitches, and the fabric manager that must run for it.
#include <cstring>

#include "common/gpus.h"
#include "nvml/device.h"

using namespace safelaunch::testing;

namespace {

constexpr unsigned kLinks = 18;

}  // namespace

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link,
                                      nvmlEnableState_t* active) {
  *active = NVML_FEATURE_ENABLED;
  return link < kLinks ? answers(device) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned link,
                                              nvmlPciInfo_t* pci) {
  *pci = {};
  std::strcpy(pci->busId, "00000000:08:00.0");  // the NVSwitch
  return link < kLinks ? answers(device) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link,
                                           nvmlNvLinkCapability_t, unsigned* has) {
  *has = 1;
  return link < kLinks ? answers(device) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                 nvmlGpuTopologyLevel_t* level) {
  *level = one->gpu == other->gpu ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_NODE;
  return answers(one);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t,
                                    nvmlGpuP2PStatus_t* status) {
  const bool between_instances = is_ill(one, "mig") || is_ill(other, "mig");
  *status = between_instances ? NVML_P2P_STATUS_NOT_SUPPORTED : NVML_P2P_STATUS_OK;
  return answers(one);
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info) {
  if (info->version != nvmlGpuFabricInfo_v2 && info->version != nvmlGpuFabricInfo_v3)
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  std::memset(info->clusterUuid, 0, sizeof info->clusterUuid);
  info->status = NVML_SUCCESS;
  info->cliqueId = 0;
  info->state = is_ill(device, "fabric") ? NVML_GPU_FABRIC_STATE_IN_PROGRESS
                                         : NVML_GPU_FABRIC_STATE_COMPLETED;
  info->healthMask = 0;
  return answers(device);
}
