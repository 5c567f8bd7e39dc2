#include "cuda/context.h"

#include <cstdlib>
#include <map>
#include <sstream>

#include "common/gpus.h"
#include "cuda/broken.h"
#include "cuda/capture.h"
#include "cuda/init.h"

namespace safelaunch::testing {
namespace {

/// The contexts of a thread, the current one last. Plain, because it is asked even while the thread
/// ends.
struct Stack {
  static constexpr std::size_t kMost = 64;
  CUctx_st* contexts[kMost];
  std::size_t size;

  [[nodiscard]] bool empty() const { return size == 0; }
  [[nodiscard]] CUctx_st* back() const { return contexts[size - 1]; }
  void push_back(CUctx_st* context) { contexts[size < kMost - 1 ? size++ : size] = context; }
  void pop_back() { --size; }
};
thread_local Stack stack;

/// Primary contexts, made when first asked for and never freed.
CUctx_st* primary(CUdevice device) {
  static auto& contexts = *new std::map<CUdevice, CUctx_st>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return &contexts.try_emplace(device, device).first->second;
}

bool is_device(CUdevice device) {
  return device >= 0 && static_cast<std::size_t>(device) < visible_gpus().size();
}

}  // namespace

CUctx_st* current_context() {
  return stack.empty() ? nullptr : stack.back();
}

CUstream_st* stream_or_default(CUstream stream) {
  const bool special =
      stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  return special ? current_context()->default_stream.get() : stream;
}

CUresult ready() {
  if (const CUresult result = initialised(); result != CUDA_SUCCESS) return result;
  return current_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

void wait_for_streams(CUctx_st& context, Which which) {
  std::vector<std::shared_ptr<WorkQueue>> queues;
  {
    const std::lock_guard lock(context.mutex);
    queues = context.queues;
  }
  for (const auto& queue : queues)
    if (which == Which::all || !(queue->flags() & CU_STREAM_NON_BLOCKING)) queue->wait_until_idle();
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (const CUresult result = initialised(); result != CUDA_SUCCESS) return result;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (gpu_is_lost(visible_gpus()[static_cast<std::size_t>(device)]))
    return CUDA_ERROR_DEVICE_UNAVAILABLE;
  *context = primary(device);
  ++(*context)->retained;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  --primary(device)->retained;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = primary(device)->retained > 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (!stack.empty()) stack.pop_back();
  if (context) stack.push_back(context);
  return initialised();
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current_context();
  return initialised();
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  stack.push_back(context);
  return initialised();
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  *device = current_context()->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) {
  return ready();
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return ready();
}

CUresult cuCtxSynchronize() {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = safe_for_captures(); result != CUDA_SUCCESS) return result;
  wait_for_streams(*current_context(), Which::all);
  return broken();
}
