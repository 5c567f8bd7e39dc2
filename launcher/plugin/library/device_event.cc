#include "device_event.h"

#include <dlfcn.h>

// The driver is called on threads that belong to NCCL or to the program, so each call leaves the
// thread's context and capture mode as it found them. A stream that is being captured into a
// graph is never marked: the mark would become a part of the graph.
namespace safelaunch::plugin {
namespace {

// Values of the driver's interface, which does not change.
constexpr int kSuccess = 0;
constexpr int kNotReady = 600;
constexpr unsigned kNoTiming = 2;
constexpr int kCapturesNothing = 0;
constexpr int kRelaxedCapture = 2;

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

bool DeviceEvent::prepare() {
  void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  return find(library, "cuEventCreate", driver_.event_create) &&
         find(library, "cuEventRecord", driver_.event_record) &&
         find(library, "cuEventQuery", driver_.event_query) &&
         find(library, "cuEventDestroy_v2", driver_.event_destroy) &&
         find(library, "cuCtxGetCurrent", driver_.context_get) &&
         find(library, "cuCtxSetCurrent", driver_.context_set) &&
         find(library, "cuStreamIsCapturing", driver_.stream_is_capturing) &&
         find(library, "cuThreadExchangeStreamCaptureMode", driver_.exchange_capture_mode);
}

// Surrounds a call of the driver on any thread: it sets the event's context, and the capture mode
// that does not spoil a capture under way on another thread. Afterwards the thread is as it was.
class DeviceEvent::Visit {
 public:
  explicit Visit(const DeviceEvent& event) : driver_(event.driver_) {
    driver_.exchange_capture_mode(&mode_);
    driver_.context_get(&context_);
    driver_.context_set(event.context_);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    driver_.context_set(context_);
    driver_.exchange_capture_mode(&mode_);
  }

 private:
  const Driver& driver_;
  int mode_ = kRelaxedCapture;
  void* context_ = nullptr;
};

bool DeviceEvent::record(void* stream) {
  if (driver_.context_get(&context_) != kSuccess || context_ == nullptr) return false;
  const Visit visit(*this);
  int capture = kCapturesNothing;
  if (driver_.stream_is_capturing(stream, &capture) != kSuccess || capture != kCapturesNothing)
    return false;
  if (driver_.event_create(&event_, kNoTiming) != kSuccess) return false;
  if (driver_.event_record(event_, stream) == kSuccess) return true;
  driver_.event_destroy(event_);
  return false;
}

DeviceEvent::State DeviceEvent::state() const {
  const Visit visit(*this);
  switch (driver_.event_query(event_)) {
    case kSuccess: return State::passed;
    case kNotReady: return State::pending;
    default: return State::unknown;
  }
}

void DeviceEvent::destroy() {
  const Visit visit(*this);
  driver_.event_destroy(event_);
}

}  // namespace safelaunch::plugin
