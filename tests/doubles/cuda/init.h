#pragma once

namespace safelaunch::testing {

/// SAFELAUNCH_DOUBLE_CUDA: what is wrong with this driver.
inline constexpr const char* kCudaKnob = "SAFELAUNCH_DOUBLE_CUDA";

}  // namespace safelaunch::testing
