#pragma once

#include <atomic>

namespace safelaunch::testing {

/// The answers of the fake libcuda, and the calls that it has seen.
struct FakeCuda {
  /// The answer of cuEventQuery: CUDA_ERROR_NOT_READY; 0: passed.
  std::atomic<int> event_answer = 600;
  std::atomic<int> capturing = 0;       ///< the answer of cuStreamIsCapturing
  std::atomic<void*> marked = nullptr;  ///< the stream of the last cuEventRecord
  std::atomic<int> events = 0;          ///< how many events live
  std::atomic<int> strict_calls = 0;    ///< event calls that could spoil another thread's capture
  std::atomic<int> foreign_calls = 0;   ///< event calls without the context
};

}  // namespace safelaunch::testing
