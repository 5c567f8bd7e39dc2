#pragma once

namespace safelaunch::testing {

/// SAFELAUNCH_DOUBLE_CUDA: the trouble of this driver.
inline constexpr const char* kCudaKnob = "SAFELAUNCH_DOUBLE_CUDA";

}  // namespace safelaunch::testing
