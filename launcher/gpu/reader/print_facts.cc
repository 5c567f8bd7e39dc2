#include <array>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "facts_json.h"
#include "questions.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/result.h"

// Runs in safelaunch-probe alone, because any question may hang or crash with the driver. Each
// answer is printed before the next question is put, so the parent knows what was asked last.
namespace safelaunch::gpu {
namespace {

using Json = nlohmann::ordered_json;

using Say = std::function<void(const std::string& line)>;

void print(const Say& say, const Json& json) {
  say(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

int print_error(const Nvml& nvml, const Say& say, nvmlReturn_t error) {
  print(say, {{"error", nvml.words(error)}, {"code", static_cast<int>(error)}});
  return exit_code_of(Errc::peer_lost);
}

void print_driver(const Nvml& nvml, const Say& say) {
  std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> driver{};
  (void)nvml.call<decltype(nvmlSystemGetDriverVersion)>("nvmlSystemGetDriverVersion", driver.data(),
                                                        static_cast<unsigned>(driver.size()));
  int cuda = 0;
  (void)nvml.call<decltype(nvmlSystemGetCudaDriverVersion_v2)>("nvmlSystemGetCudaDriverVersion_v2",
                                                               &cuda);
  const std::string version = cuda > 0 ? fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10) : "";
  const std::string words(driver.data(), ::strnlen(driver.data(), driver.size()));
  print(say, {{"driver", words}, {"cuda", version}});
}

Handle handle_of(const Nvml& nvml, unsigned index) {
  Handle handle;
  handle.result = nvml.call<decltype(nvmlDeviceGetHandleByIndex_v2)>(
      "nvmlDeviceGetHandleByIndex_v2", index, &handle.device);
  if (handle.result != NVML_SUCCESS) handle.device = nullptr;
  return handle;
}

}  // namespace

int tell_gpu_facts(const Nvml& nvml, const Say& say) {
  if (nvml.trouble() != NVML_SUCCESS) return print_error(nvml, say, nvml.trouble());
  print_driver(nvml, say);
  unsigned count = 0;
  if (const auto result =
          nvml.call<decltype(nvmlDeviceGetCount_v2)>("nvmlDeviceGetCount_v2", &count);
      result != NVML_SUCCESS)
    return print_error(nvml, say, result);

  std::vector<Handle> gpus;
  for (unsigned i = 0; i < count; ++i) {
    print(say, {{"asking", i}});
    gpus.push_back(handle_of(nvml, i));
  }
  for (unsigned i = 0; i < count; ++i) {
    print(say, {{"asking", i}});
    print(say, {{"gpu", json_of(ask_about_gpu(nvml, gpus, static_cast<int>(i)))}});
  }
  print(say, {{"done", true}});
  return 0;
}

int print_gpu_facts() {
  // A line is flushed, because the next question may never be answered.
  return tell_gpu_facts(Nvml(), [](const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
  });
}

}  // namespace safelaunch::gpu
