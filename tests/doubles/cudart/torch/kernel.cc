#include "cudart/torch/kernel.h"

namespace safelaunch::testing {

std::optional<TrueKernel> true_kernel(std::string_view name) {
  for (const auto family :
       {elementwise_kernel, range_kernel, reduction_kernel, concatenation_kernel, nonzero_kernel})
    if (auto kernel = family(name)) return kernel;
  return std::nullopt;
}

bool is_memory(const void* address) {
  int device = 0;
  return cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                               reinterpret_cast<CUdeviceptr>(address)) == CUDA_SUCCESS;
}

}  // namespace safelaunch::testing
