// The calls that this double does not do. torch links them, so they are there, and they say so.
#include "nccl/api.h"

#include <string>

#include "nccl/driver.h"
#include "nccl/log.h"
#include "nccl/places.h"

namespace safelaunch::testing {

ncclResult_t refused(const char* what) {
  log_warn(device_of_caller(), places().config, std::string(what) + " is not supported");
  return ncclInvalidUsage;
}

}  // namespace safelaunch::testing

using safelaunch::testing::refused;

ncclResult_t ncclCommGetUniqueId(ncclComm_t, ncclUniqueId*) {
  return refused("ncclCommGetUniqueId");
}

ncclResult_t ncclCommGrow(ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t*, ncclConfig_t*) {
  return refused("ncclCommGrow");
}

ncclResult_t ncclCommRevoke(ncclComm_t, int) {
  return refused("ncclCommRevoke");
}

ncclResult_t ncclCommSuspend(ncclComm_t, int) {
  return refused("ncclCommSuspend");
}

ncclResult_t ncclCommResume(ncclComm_t) {
  return refused("ncclCommResume");
}

ncclResult_t ncclCommMemStats(ncclComm_t, ncclCommMemStat_t, unsigned long*) {
  return refused("ncclCommMemStats");
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t*) {
  return refused("ncclGroupSimulateEnd");
}

ncclResult_t ncclPutSignal(const void*, std::size_t, ncclDataType_t, int, ncclWindow_t, std::size_t,
                           int, int, unsigned, ncclComm_t, cudaStream_t) {
  return refused("ncclPutSignal");
}

ncclResult_t ncclSignal(int, int, int, unsigned, ncclComm_t, cudaStream_t) {
  return refused("ncclSignal");
}

ncclResult_t ncclWaitSignal(int, ncclWaitSignalDesc_t*, ncclComm_t, cudaStream_t) {
  return refused("ncclWaitSignal");
}

// The functions of nccl_device.h: device code that communicates by itself.
extern "C" {

ncclResult_t ncclDevCommCreate(ncclComm_t, const void*, void*) {
  return refused("ncclDevCommCreate");
}

ncclResult_t ncclDevCommDestroy(ncclComm_t, const void*) {
  return refused("ncclDevCommDestroy");
}

ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t, std::size_t, void**) {
  return refused("ncclGetLsaMultimemDevicePointer");
}

ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t, std::size_t, int, void**) {
  return refused("ncclGetPeerDevicePointer");
}
}
