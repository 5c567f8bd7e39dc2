// Streams and events. A function that NCCL's double puts on a stream (cuLaunchHostFunc) stands for
// its kernel: the stream is busy until it returns, and one that never returns is a kernel that
// never ends.
#include "cuda/api.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "cuda/broken.h"
#include "cuda/capture.h"
#include "cuda/context.h"

using namespace safelaunch::testing;

namespace {

/// One record of an event, shared with the work that reaches it.
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool reached = false;
  std::chrono::steady_clock::time_point when;

  void reach() {
    const std::lock_guard lock(mutex);
    reached = true;
    when = std::chrono::steady_clock::now();
    changed.notify_all();
  }
  [[nodiscard]] bool is_reached() {
    const std::lock_guard lock(mutex);
    return reached;
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return reached; });
  }
};

}  // namespace

struct CUevent_st {
  std::shared_ptr<Mark> mark;        ///< null until recorded
  std::weak_ptr<Capture> capture{};  ///< in which it was recorded last
};

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  *stream = new CUstream_st(*current_context(), flags);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}

CUresult cuStreamQuery(CUstream stream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = safe_for_captures(); result != CUDA_SUCCESS) return result;
  return stream_or_default(stream)->queue->idle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream stream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = safe_for_captures(); result != CUDA_SUCCESS) return result;
  stream_or_default(stream)->queue->wait_until_idle();
  return broken();
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  delete stream;  // its work goes on: the stream shares its queue with the thread
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (const auto capture = event->capture.lock()) {
    join_capture(*stream_or_default(stream), capture);
    return CUDA_SUCCESS;
  }
  if (!event->mark || event->mark->is_reached()) return CUDA_SUCCESS;
  return put(stream, {[mark = event->mark] { mark->wait(); }, Manner::waiting});
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  return put(stream, {[=] { function(data); }, Manner::waiting});
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const auto capture = capture_of(*stream_or_default(stream));
  event->capture = capture;
  event->mark = std::make_shared<Mark>();
  if (capture) return CUDA_SUCCESS;  // the order of the calls is kept without it
  return put(stream, {[mark = event->mark] { mark->reach(); }, Manner::quick});
}

CUresult cuEventQuery(CUevent event) {
  if (const CUresult result = safe_for_captures(); result != CUDA_SUCCESS) return result;
  if (broken() != CUDA_SUCCESS) return broken();
  return !event->mark || event->mark->is_reached() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
  if (const CUresult result = safe_for_captures(); result != CUDA_SUCCESS) return result;
  if (event->mark) event->mark->wait();
  return broken();
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  if (!start->mark || !end->mark) return CUDA_ERROR_INVALID_HANDLE;
  if (cuEventQuery(start) != CUDA_SUCCESS || cuEventQuery(end) != CUDA_SUCCESS)
    return CUDA_ERROR_NOT_READY;
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->mark->when - start->mark->when).count();
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
