#pragma once

namespace safelaunch::plugin {

/// A mark in a CUDA stream. It has passed once the device has done all work that was put into the
/// stream before it. It uses the libcuda that the process has loaded already; without one nothing
/// can be marked. It spoils no capture of a graph, on whatever thread.
class DeviceEvent {
 public:
  enum class State { pending, passed, unknown };

  constexpr DeviceEvent() = default;

  /// True if events can be had in this process.
  bool prepare();
  /// Marks the stream, in the context that is current on this thread. False if it cannot be marked:
  /// it is being captured into a graph, or the driver refuses.
  bool record(void* stream);
  /// Asks the driver, on any thread; waits for nothing.
  [[nodiscard]] State state() const;
  void destroy();

 private:
  struct Driver {
    int (*event_create)(void** event, unsigned flags) = nullptr;
    int (*event_record)(void* event, void* stream) = nullptr;
    int (*event_query)(void* event) = nullptr;
    int (*event_destroy)(void* event) = nullptr;
    int (*context_get)(void** context) = nullptr;
    int (*context_set)(void* context) = nullptr;
    int (*stream_is_capturing)(void* stream, int* status) = nullptr;
    int (*exchange_capture_mode)(int* mode) = nullptr;
  };

  class Visit;

  Driver driver_{};
  void* context_ = nullptr;
  void* event_ = nullptr;
};

}  // namespace safelaunch::plugin
