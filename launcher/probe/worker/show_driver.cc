#include "cuda_driver.h"
#include "modes.h"
#include "print_json.h"
#include "probe_device.h"

namespace safelaunch::probe {
namespace {

Result<std::vector<std::string>> gpu_names(const CudaDriver& cuda) {
  const auto count = count_gpus(cuda);
  if (!count) return count.error();
  std::vector<std::string> names;
  for (int i = 0; i < *count; ++i) {
    CUdevice device = 0;
    if (const auto found = cuda.check(cuda.device(&device, i), "cuDeviceGet"); !found)
      return found.error();
    auto name = name_of_gpu(cuda, device);
    if (!name) return name.error();
    names.push_back(std::move(*name));
  }
  return names;
}

int refuse(const Error& error) {
  print_json({{"failed", error.message}});
  return 1;
}

}  // namespace

int show_driver() {
  const auto cuda = CudaDriver::open();
  if (!cuda) return refuse(cuda.error());
  const auto names = gpu_names(*cuda);
  if (!names) return refuse(names.error());
  int version = 0;
  (void)cuda->version(&version);
  print_json({{"cuda", version}, {"gpus", *names}});
  return 0;
}

}  // namespace safelaunch::probe
