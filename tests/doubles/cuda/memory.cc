// Device memory is memory of the host. Copies by the host wait for the streams that run in step
// with the default stream, as CUDA's do.
#include <sys/mman.h>
#include "cuda/api.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "common/gpus.h"
#include "cuda/broken.h"
#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/memory.h"

using namespace safelaunch::testing;

namespace {

struct Block {
  std::size_t size;
  int device;
};

constexpr std::size_t kPage = 4096;

// Never freed, because they are used until the very end.
std::mutex blocks_mutex;
std::map<CUdeviceptr, Block>& blocks = *new std::map<CUdeviceptr, Block>;
std::map<CUdeviceptr, Block>& pinned = *new std::map<CUdeviceptr, Block>;

CUdeviceptr device(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

std::size_t used_on(int device) {
  std::size_t used = 0;
  for (const auto& [address, block] : blocks)
    if (block.device == device) used += block.size;
  return used;
}

CUresult copy_now(void* to, const void* from, std::size_t size) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = safe_for_captures(); result != CUDA_SUCCESS) return result;
  wait_for_streams(*current_context(), Which::in_step);
  std::memcpy(to, from, size);
  return broken();
}

CUresult copy_later(void* to, const void* from, std::size_t size, CUstream stream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  return put(stream, {[=] { std::memcpy(to, from, size); }, Manner::quick});
}

template <class Value>
CUresult fill(CUdeviceptr address, Value value, std::size_t count, CUstream stream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  return put(stream, {[=] { std::fill_n(static_cast<Value*>(host(address)), count, value); },
                      Manner::quick});
}

}  // namespace

namespace safelaunch::testing {

std::optional<Range> allocated_at(CUdeviceptr address) {
  const std::lock_guard lock(blocks_mutex);
  return range_at(blocks, address);
}

std::optional<Range> pinned_at(CUdeviceptr address) {
  const std::lock_guard lock(blocks_mutex);
  return range_at(pinned, address);
}

}  // namespace safelaunch::testing

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t size) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = safe_for_captures(); result != CUDA_SUCCESS) return result;
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(blocks_mutex);
  const int device = current_context()->device;
  if (size > kGpuMemory - used_on(device)) return CUDA_ERROR_OUT_OF_MEMORY;
  // Pages of their own are zero, and take room only when they are touched.
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  blocks[*address] = {size, device};
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = safe_for_captures(); result != CUDA_SUCCESS) return result;
  wait_for_streams(*current_context(), Which::all);
  const std::lock_guard lock(blocks_mutex);
  const auto block = blocks.find(address);
  if (block == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  ::munmap(host(address), block->second.size);
  blocks.erase(block);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(blocks_mutex);
  *total = kGpuMemory;
  *free = kGpuMemory - used_on(current_context()->device);
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void** memory, std::size_t size) {
  *memory = std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage);
  return *memory ? cuMemHostRegister_v2(*memory, size, 0) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostAlloc(void** memory, std::size_t size, unsigned) {
  return cuMemAllocHost_v2(memory, size);
}

CUresult cuMemFreeHost(void* memory) {
  const CUresult result = cuMemHostUnregister(memory);
  if (result == CUDA_SUCCESS) std::free(memory);
  return result;
}

CUresult cuMemHostRegister_v2(void* memory, std::size_t size, unsigned) {
  const std::lock_guard lock(blocks_mutex);
  const bool is_new = pinned.try_emplace(device(memory), Block{size, kOnHost}).second;
  return is_new ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostUnregister(void* memory) {
  const std::lock_guard lock(blocks_mutex);
  return pinned.erase(device(memory)) > 0 ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t size) {
  return copy_now(host(to), from, size);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t size) {
  return copy_now(to, host(from), size);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t size) {
  return copy_now(host(to), host(from), size);
}
// The host's memory is read at once: it may be gone when the stream comes to it.
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t size, CUstream stream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const char* bytes = static_cast<const char*>(from);
  return put(stream, {[to, copy = std::vector<char>(bytes, bytes + size)] {
                        std::memcpy(host(to), copy.data(), copy.size());
                      },
                      Manner::quick});
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t size, CUstream stream) {
  return copy_later(to, host(from), size, stream);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream) {
  return copy_later(host(to), host(from), size, stream);
}
CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, std::size_t count) {
  return fill(address, value, count, nullptr);
}
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, std::size_t count) {
  return fill(address, value, count, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, std::size_t count,
                         CUstream stream) {
  return fill(address, value, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, std::size_t count, CUstream stream) {
  return fill(address, value, count, stream);
}
