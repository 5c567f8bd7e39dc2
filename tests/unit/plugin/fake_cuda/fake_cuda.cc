// A libcuda.so.1 with the functions that the plugin calls, and a device on which nothing happens
// but what the test says.
#include "fake_cuda.h"

namespace {

safelaunch::testing::FakeCuda fake;
thread_local void* context = nullptr;
thread_local int capture_mode = 0;  // CU_STREAM_CAPTURE_MODE_GLOBAL, as every thread begins

constexpr int kRelaxed = 2;

void note_call() {
  if (capture_mode != kRelaxed) ++fake.strict_calls;
  if (context == nullptr) ++fake.foreign_calls;
}

}  // namespace

extern "C" {

safelaunch::testing::FakeCuda* fake_cuda() {
  return &fake;
}

int cuCtxGetCurrent(void** current) {
  *current = context;
  return 0;
}

int cuCtxSetCurrent(void* wanted) {
  context = wanted;
  return 0;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  const int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}

int cuStreamIsCapturing(void*, int* status) {
  *status = fake.capturing;
  return 0;
}

int cuEventCreate(void** event, unsigned) {
  note_call();
  ++fake.events;
  *event = new int;
  return 0;
}

int cuEventRecord(void*, void* stream) {
  note_call();
  fake.marked = stream;
  return 0;
}

int cuEventQuery(void*) {
  note_call();
  return fake.event_answer;
}

int cuEventDestroy_v2(void* event) {
  note_call();
  --fake.events;
  delete static_cast<int*>(event);
  return 0;
}
}
