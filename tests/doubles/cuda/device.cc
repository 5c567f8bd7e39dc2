// The properties of a device.
#include "cuda/api.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "common/gpus.h"
#include "common/knobs.h"
#include "cuda/attributes.h"
#include "cuda/context.h"
#include "cuda/init.h"

using namespace safelaunch::testing;

namespace {

/// The machine's index of CUDA's device; -1 if there is none.
int gpu_of(CUdevice device) {
  const auto gpus = visible_gpus();
  return device < 0 || static_cast<std::size_t>(device) >= gpus.size()
             ? -1
             : gpus[static_cast<std::size_t>(device)];
}

CUresult check(CUdevice device) {
  if (const CUresult result = initialised(); result != CUDA_SUCCESS) return result;
  return gpu_of(device) < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuDeviceGetCount(int* count) {
  *count = knob_has(kCudaKnob, "garbage") ? -7 : static_cast<int>(visible_gpus().size());
  return initialised();
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return check(ordinal);
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (const CUresult result = check(device); result != CUDA_SUCCESS) return result;
  if (knob_has(kCudaKnob, "garbage")) {
    std::memset(name, 0xff, static_cast<std::size_t>(length));  // not even an end
    return CUDA_SUCCESS;
  }
  std::snprintf(name, static_cast<std::size_t>(length), "%s", kGpuName);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (const CUresult result = check(device); result != CUDA_SUCCESS) return result;
  const auto bytes = gpu_uuid(gpu_of(device));
  std::memcpy(uuid->bytes, bytes.data(), bytes.size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  if (const CUresult result = check(device); result != CUDA_SUCCESS) return result;
  std::snprintf(text, static_cast<std::size_t>(length), "%s", gpu_bus_id(gpu_of(device)).c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  const auto gpus = visible_gpus();
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](int gpu) { return gpu_bus_id(gpu) == text; });
  *device = static_cast<CUdevice>(found - gpus.begin());
  return check(*device);
}

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  *bytes = kGpuMemory;
  return check(device);
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (const CUresult result = check(device); result != CUDA_SUCCESS) return result;
  *value = attribute_of_gpu(attribute, gpu_of(device));
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  *can = device != peer;
  return check(device);
}
