// How the GPUs are joined: PCIe, NVLink over NVSwitches, and the fabric manager that must run for
// it.
#include <cstring>

#include "common/gpus.h"
#include "common/knobs.h"
#include "nvml/device.h"

namespace safelaunch::testing {

unsigned link_count() {
  return knob_has(kNvmlKnob, "pcie") ? 0 : 18;
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link,
                                      nvmlEnableState_t* active) {
  *active = NVML_FEATURE_ENABLED;
  return link < link_count() ? answers(device) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                                 nvmlPciInfo_t* pci) {
  *pci = {};
  std::strcpy(pci->busId, "00000000:08:00.0");  // the NVSwitch
  return link < link_count() ? answers(device) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link,
                                           nvmlNvLinkCapability_t, unsigned* has) {
  *has = 1;
  return link < link_count() ? answers(device) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t device, unsigned* speed) {
  *speed = NVML_PCIE_LINK_MAX_SPEED_32000MBPS;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  *generation = 5;
  return answers(device);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* width) {
  *width = 16;
  return answers(device);
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

nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t, nvmlPlatformInfo_t*) {
  return NVML_ERROR_NOT_SUPPORTED;  // as on all machines that are no rack
}
