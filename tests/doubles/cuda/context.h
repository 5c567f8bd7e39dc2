#pragma once

#include "cuda/api.h"

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/stream.h"

/// The primary context of one device. It lives as long as the process, because threads of the
/// application may still use it while that ends.
struct CUctx_st {
  explicit CUctx_st(int index)
      : device(index), default_stream(std::make_unique<CUstream_st>(*this, 0)) {}

  const int device;  ///< as CUDA counts, CUDA_VISIBLE_DEVICES obeyed
  int retained = 0;
  /// The queues of all its streams.
  std::vector<std::shared_ptr<safelaunch::testing::WorkQueue>> queues;
  std::mutex mutex;
  std::unique_ptr<CUstream_st> default_stream;  ///< the last member: it enters its queue
};

namespace safelaunch::testing {

/// The context of the calling thread; null if none is set.
[[nodiscard]] CUctx_st* current_context();

/// The stream that a call means: 0 and the two special values are the context's default stream.
[[nodiscard]] CUstream_st* stream_or_default(CUstream stream);

/// CUDA_SUCCESS if cuInit was called and a context is current, else what CUDA says.
[[nodiscard]] CUresult ready();

/// CUDA_SUCCESS if cuInit was called.
[[nodiscard]] CUresult initialised();

/// The GPUs that CUDA_VISIBLE_DEVICES leaves, in its order: CUDA's index → the machine's.
[[nodiscard]] std::vector<int> visible_gpus();

/// Waits for what the default stream waits for: all streams of the context, or only those that were
/// made to run in step with it.
enum class Which { all, in_step };
void wait_for_streams(CUctx_st& context, Which which);

}  // namespace safelaunch::testing
