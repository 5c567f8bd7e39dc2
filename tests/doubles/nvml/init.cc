// Start, end, versions and errors of the library.
#include <atomic>
#include <cstdio>

#include "common/knobs.h"
#include "nvml/device.h"

namespace safelaunch::testing {
namespace {

std::atomic<int> users = 0;

struct Known {
  nvmlReturn_t result;
  const char* text;
};

constexpr Known kKnown[] = {
    {NVML_SUCCESS, "Success"},
    {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
    {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
    {NVML_ERROR_NOT_FOUND, "Not Found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
    {NVML_ERROR_TIMEOUT, "Timeout"},
    {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
};

}  // namespace

nvmlReturn_t nvml_initialised() {
  return users > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

nvmlReturn_t nvmlInitWithFlags(unsigned) {
  hang_or_crash(kNvmlKnob);
  if (knob_has(kNvmlKnob, "none")) return NVML_ERROR_DRIVER_NOT_LOADED;
  if (knob_has(kNvmlKnob, "mismatch")) return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
  ++users;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2() {
  return nvmlInitWithFlags(0);
}

nvmlReturn_t nvmlShutdown() {
  const nvmlReturn_t result = nvml_initialised();
  if (result == NVML_SUCCESS) --users;
  return result;
}

const char* nvmlErrorString(nvmlReturn_t result) {
  for (const Known& known : kKnown)
    if (known.result == result) return known.text;
  return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "%s", "580.65.06");
  return nvml_initialised();
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  std::snprintf(text, length, "%s", "13.580.65.06");
  return nvml_initialised();
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return nvml_initialised();
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t* state) {
  *state = {};
  return nvml_initialised();
}

nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t* settings) {
  if (settings->version != nvmlSystemConfComputeSettings_v1)
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  *settings = {};
  settings->version = nvmlSystemConfComputeSettings_v1;
  return nvml_initialised();
}
