#include "safelaunch/gpu/print_gpu_facts.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "gpu_json.h"
#include "gpu_questions.h"
#include "safelaunch/base/format.h"

namespace safelaunch::gpu {
namespace {

using Json = nlohmann::ordered_json;

/// Flushed at once: the next question may never be answered.
void print(const Json& json) {
  std::puts(json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

int print_error(const Nvml& nvml, nvmlReturn_t error) {
  print({{"error", nvml.words(error)}, {"code", static_cast<int>(error)}});
  constexpr int kUnavailable = 69;
  return kUnavailable;
}

void print_driver(const Nvml& nvml) {
  std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> driver{};
  (void)nvml.call<decltype(nvmlSystemGetDriverVersion)>("nvmlSystemGetDriverVersion", driver.data(),
                                                        static_cast<unsigned>(driver.size()));
  int cuda = 0;
  (void)nvml.call<decltype(nvmlSystemGetCudaDriverVersion_v2)>("nvmlSystemGetCudaDriverVersion_v2",
                                                               &cuda);
  const std::string version = cuda > 0 ? fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10) : "";
  print({{"driver", driver.data()}, {"cuda", version}});
}

Handle handle_of(const Nvml& nvml, unsigned index) {
  Handle handle;
  handle.result = nvml.call<decltype(nvmlDeviceGetHandleByIndex_v2)>(
      "nvmlDeviceGetHandleByIndex_v2", index, &handle.device);
  if (handle.result != NVML_SUCCESS) handle.device = nullptr;
  return handle;
}

}  // namespace

int print_gpu_facts() {
  const Nvml nvml;
  if (nvml.trouble() != NVML_SUCCESS) return print_error(nvml, nvml.trouble());
  print_driver(nvml);
  unsigned count = 0;
  if (const auto result =
          nvml.call<decltype(nvmlDeviceGetCount_v2)>("nvmlDeviceGetCount_v2", &count);
      result != NVML_SUCCESS)
    return print_error(nvml, result);

  std::vector<Handle> gpus;
  for (unsigned i = 0; i < count; ++i) {
    print({{"asking", i}});
    gpus.push_back(handle_of(nvml, i));
  }
  for (unsigned i = 0; i < count; ++i) {
    print({{"asking", i}});
    print({{"gpu", json_of(ask_about_gpu(nvml, gpus, static_cast<int>(i)))}});
  }
  print({{"done", true}});
  return 0;
}

}  // namespace safelaunch::gpu
