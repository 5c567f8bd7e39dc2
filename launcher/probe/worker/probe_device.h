#pragma once

#include <cstddef>
#include <optional>

#include "opened_libraries.h"

namespace safelaunch::probe {

/// The probe reduces 64 MiB: enough for an all_reduce to reach its bandwidth.
inline constexpr std::size_t kProbeBytes = 64 << 20;
inline constexpr std::size_t kProbeFloats = kProbeBytes / sizeof(float);

/// One GPU with what an all_reduce needs: a context, buffers, a stream. Nothing is given back: the
/// process's end does that, also where the driver is ill.
class Device {
 public:
  explicit Device(const CudaDriver& cuda) : cuda_(cuda) {}

  /// Calls cuInit, and takes a device by its ordinal among those that are visible.
  [[nodiscard]] Result<void> choose(int ordinal);
  [[nodiscard]] Result<std::string> name() const;

  /// Whether it serves one process at a time. Asked without a context, which would be that process.
  [[nodiscard]] Result<bool> exclusive() const;

  /// The primary context, which is the one that NCCL uses.
  [[nodiscard]] Result<void> make_context();
  [[nodiscard]] Result<std::size_t> free_memory() const;
  [[nodiscard]] Result<void> make_buffers();

  /// One float, for small sums.
  [[nodiscard]] CUdeviceptr value() const { return value_; }
  [[nodiscard]] Result<void> put_value(float value) const;

  /// kProbeBytes each. fill_send() puts 1 into every float.
  [[nodiscard]] CUdeviceptr send() const { return send_; }
  [[nodiscard]] CUdeviceptr receive() const { return receive_; }
  [[nodiscard]] Result<void> fill_send() const;
  [[nodiscard]] Result<float> float_at(CUdeviceptr place) const;

  [[nodiscard]] CUstream stream() const { return stream_; }
  [[nodiscard]] Result<bool> idle() const;

  /// Marks on the stream, and the milliseconds between them once it is idle.
  [[nodiscard]] Result<void> mark_begin() const;
  [[nodiscard]] Result<void> mark_end() const;
  [[nodiscard]] Result<double> ms_between_marks() const;

 private:
  CudaDriver cuda_;
  CUdevice device_ = 0;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr;
  CUevent end_ = nullptr;
  CUdeviceptr value_ = 0;
  CUdeviceptr send_ = 0;
  CUdeviceptr receive_ = 0;
};

/// Calls cuInit, and returns how many GPUs it shows (CUDA_VISIBLE_DEVICES counts). Error: none,
/// as not_found where the driver is well.
[[nodiscard]] Result<int> count_gpus(const CudaDriver& cuda);

[[nodiscard]] Result<std::string> name_of_gpu(const CudaDriver& cuda, CUdevice device);

}  // namespace safelaunch::probe
