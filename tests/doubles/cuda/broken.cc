#include "cuda/broken.h"

#include <atomic>

#include "common/gpus.h"
#include "cuda/context.h"

namespace safelaunch::testing {
namespace {

std::atomic<CUresult> failure = CUDA_SUCCESS;

}  // namespace

CUresult broken() {
  return failure;
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

void cuDoubleBreak(CUresult result) {
  const CUctx_st* context = current_context();
  const std::vector<int> gpus = visible_gpus();
  const auto device = static_cast<std::size_t>(context ? context->device : 0);
  if (result != CUDA_ERROR_ECC_UNCORRECTABLE && device < gpus.size()) lose_gpu(gpus[device]);
  failure = result;
}
