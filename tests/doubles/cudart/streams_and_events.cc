// Streams and events are those of the driver.
#include <memory>

#include "cudart/driver.h"

using namespace safelaunch::testing;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return in_context([=] { return cuStreamCreate(stream, flags); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return told(cuStreamDestroy(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return in_context([=] { return cuStreamSynchronize(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return in_context([=] { return cuStreamWaitEvent(stream, event, flags); });
}

// "Not ready" is an answer and no error.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const cudaError_t result = with_context();
  return result == cudaSuccess ? static_cast<cudaError_t>(cuStreamQuery(stream)) : result;
}

cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;  // one thread a stream: none is preferred
  return with_context();
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  *id = reinterpret_cast<unsigned long long>(stream);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return in_context([=] { return cuLaunchHostFunc(stream, function, data); });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned) {
  struct Callback {
    cudaStream_t stream;
    cudaStreamCallback_t function;
    void* data;
  };
  const auto call = [](void* kept) {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(kept));
    callback->function(callback->stream, cudaSuccess, callback->data);
  };
  return cudaLaunchHostFunc(stream, call, new Callback{stream, function, data});
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return in_context([=] { return cuEventCreate(event, flags); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return in_context([=] { return cuEventRecord(event, stream); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return told(cuEventElapsedTime(milliseconds, start, end));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return static_cast<cudaError_t>(cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return told(cuEventSynchronize(event));
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return told(cuEventDestroy(event));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  return told(cudaErrorNotSupported);
}
