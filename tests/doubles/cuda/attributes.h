#pragma once

#include "cuda/api.h"

namespace safelaunch::testing {

/// What an H100 SXM tells of itself. `gpu` is the machine's index. An attribute that is not listed
/// is 0: the device cannot do that.
[[nodiscard]] int attribute_of_gpu(CUdevice_attribute attribute, int gpu);

}  // namespace safelaunch::testing
