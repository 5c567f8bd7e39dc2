#pragma once

#include <atomic>

namespace safelaunch::testing {

/// What the fake libcuda does and has seen.
struct FakeCuda {
  std::atomic<int> event_answer = 600;  ///< of cuEventQuery: CUDA_ERROR_NOT_READY; 0: passed
  std::atomic<int> capturing = 0;       ///< of cuStreamIsCapturing
  std::atomic<void*> marked = nullptr;  ///< the stream of the last cuEventRecord
  std::atomic<int> events = 0;          ///< that live
  std::atomic<int> strict_calls = 0;    ///< event calls that could spoil another thread's capture
  std::atomic<int> foreign_calls = 0;   ///< event calls without the context
};

}  // namespace safelaunch::testing
