#include "probe_device.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "safelaunch/base/format.h"

// Each call of the driver is checked at once, and its error bears the name of the call, since the
// driver's code alone does not tell where a sick GPU gave up. Numbers that no machine has are
// refused.
namespace safelaunch::probe {
namespace {

/// More than any machine has: a driver that says so is not to be believed.
constexpr int kMostDevices = 1024;

/// The first that failed.
template <std::size_t N>
Result<void> all_of(const std::array<Result<void>, N>& results) {
  const auto failed = std::find_if(results.begin(), results.end(), [](auto& one) { return !one; });
  return failed == results.end() ? Result<void>() : *failed;
}

}  // namespace

Result<int> count_gpus(const CudaDriver& cuda) {
  const CUresult result = cuda.init(0);
  if (const auto begun = cuda.check(result, "cuInit"); !begun)
    return Error{result == CUDA_ERROR_NO_DEVICE ? Errc::not_found : begun.error().code,
                 begun.error().message};
  int count = 0;
  if (const auto counted = cuda.check(cuda.device_count(&count), "cuDeviceGetCount"); !counted)
    return counted.error();
  if (count == 0)
    return Error{Errc::not_found, "the CUDA driver shows no GPU (CUDA_VISIBLE_DEVICES?)"};
  if (count < 0 || count > kMostDevices)
    return Error{Errc::peer_lost,
                 fmt::format("the CUDA driver speaks of {} GPUs: it is ill", count)};
  return count;
}

Result<std::string> name_of_gpu(const CudaDriver& cuda, CUdevice device) {
  std::array<char, 256> text{};
  const int size = static_cast<int>(text.size());
  const auto asked = cuda.check(cuda.device_name(text.data(), size, device), "cuDeviceGetName");
  if (!asked) return asked.error();
  text.back() = '\0';
  return std::string(text.data());
}

Result<void> Device::choose(int ordinal) {
  const auto count = count_gpus(cuda_);
  if (!count) return count.error();
  if (ordinal >= *count)
    return Error{Errc::usage,
                 fmt::format("there is no GPU {}: the driver shows {}", ordinal, *count)};
  return cuda_.check(cuda_.device(&device_, ordinal), "cuDeviceGet");
}

Result<std::string> Device::name() const {
  return name_of_gpu(cuda_, device_);
}

Result<bool> Device::exclusive() const {
  int mode = CU_COMPUTEMODE_DEFAULT;
  const auto asked =
      cuda_.check(cuda_.device_attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device_),
                  "cuDeviceGetAttribute");
  if (!asked) return asked.error();
  return mode != CU_COMPUTEMODE_DEFAULT;
}

Result<void> Device::make_context() {
  CUcontext context = nullptr;
  const auto made =
      cuda_.check(cuda_.retain_context(&context, device_), "cuDevicePrimaryCtxRetain");
  if (!made) return made.error();
  return cuda_.check(cuda_.use_context(context), "cuCtxSetCurrent");
}

Result<std::size_t> Device::free_memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  const auto asked = cuda_.check(cuda_.memory_info(&free, &total), "cuMemGetInfo");
  if (!asked) return asked.error();
  return free;
}

Result<void> Device::make_buffers() {
  return all_of(std::array{
      cuda_.check(cuda_.allocate(&value_, sizeof(float)), "cuMemAlloc of 4 B"),
      cuda_.check(cuda_.allocate(&send_, kProbeBytes), "cuMemAlloc of 64 MiB"),
      cuda_.check(cuda_.allocate(&receive_, kProbeBytes), "cuMemAlloc of 64 MiB"),
      cuda_.check(cuda_.create_stream(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"),
      cuda_.check(cuda_.create_event(&begin_, CU_EVENT_DEFAULT), "cuEventCreate"),
      cuda_.check(cuda_.create_event(&end_, CU_EVENT_DEFAULT), "cuEventCreate")});
}

Result<void> Device::put_value(float value) const {
  return cuda_.check(cuda_.copy_in(value_, &value, sizeof(value)), "cuMemcpyHtoD");
}

Result<void> Device::fill_send() const {
  const float one = 1;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &one, sizeof(bits));
  if (const auto begun = cuda_.check(cuda_.fill(send_, bits, kProbeFloats), "cuMemsetD32"); !begun)
    return begun.error();
  return cuda_.check(cuda_.synchronize(), "cuCtxSynchronize");
}

Result<float> Device::float_at(CUdeviceptr place) const {
  float value = 0;
  const auto copied = cuda_.check(cuda_.copy_out(&value, place, sizeof(value)), "cuMemcpyDtoH");
  if (!copied) return copied.error();
  return value;
}

Result<bool> Device::idle() const {
  const CUresult state = cuda_.query_stream(stream_);
  if (state == CUDA_ERROR_NOT_READY) return false;
  if (const auto healthy = cuda_.check(state, "cuStreamQuery"); !healthy) return healthy.error();
  return true;
}

Result<void> Device::mark_begin() const {
  return cuda_.check(cuda_.record_event(begin_, stream_), "cuEventRecord");
}

Result<void> Device::mark_end() const {
  return cuda_.check(cuda_.record_event(end_, stream_), "cuEventRecord");
}

Result<double> Device::ms_between_marks() const {
  float ms = 0;
  const auto told = cuda_.check(cuda_.elapsed(&ms, begin_, end_), "cuEventElapsedTime");
  if (!told) return told.error();
  return double{ms};
}

}  // namespace safelaunch::probe
