// cuMem…: physical memory, ranges of addresses, and the one mapped into the other. Physical memory
// is a memfd: a file descriptor passes it to another process, as CUDA's does, and it lies in no
// file system, least of all in /dev/shm.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cuda/api.h"

#include <cstdint>
#include <map>
#include <mutex>

#include "cuda/context.h"
#include "cuda/memory.h"
#include "safelaunch/base/unique_fd.h"

using namespace safelaunch::testing;

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

/// The memory behind a CUmemGenericAllocationHandle. It lives as long as a handle or a mapping
/// does.
struct Physical {
  safelaunch::UniqueFd file;
  std::size_t size;
  CUmemAllocationProp properties;
  int users = 1;
};

struct Mapping {
  Physical* physical;
  std::size_t size;
  int device;
};

std::mutex handles_mutex;
std::map<CUdeviceptr, Mapping>& mappings = *new std::map<CUdeviceptr, Mapping>;  // never freed

Physical* physical(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<Physical*>(handle);
}

CUmemGenericAllocationHandle handle_of(Physical* physical) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(physical);
}

void release(Physical* physical) {
  if (--physical->users == 0) delete physical;
}

/// Reserves addresses, or gives back what was mapped there.
void* reserve(void* where, std::size_t size) {
  const int fixed = where ? MAP_FIXED : 0;
  return ::mmap(where, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

int device_of(const CUmemAllocationProp& properties) {
  return properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? properties.location.id : -1;
}

}  // namespace

namespace safelaunch::testing {

std::optional<Range> mapped_at(CUdeviceptr address) {
  const std::lock_guard lock(handles_mutex);
  return range_at(mappings, address);
}

}  // namespace safelaunch::testing

CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *granularity = kGranularity;
  return initialised();
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t size,
                     const CUmemAllocationProp* properties, unsigned long long) {
  if (const CUresult result = initialised(); result != CUDA_SUCCESS) return result;
  if (size == 0 || size % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  safelaunch::UniqueFd file(::memfd_create("device memory", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = handle_of(new Physical{std::move(file), size, *properties});
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(handles_mutex);
  release(physical(handle));
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  *static_cast<int*>(shareable) = ::dup(physical(handle)->file.get());
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  safelaunch::UniqueFd file(::dup(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable))));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto size = static_cast<std::size_t>(facts.st_size);
  *handle = handle_of(new Physical{std::move(file), size, {}});
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t size, std::size_t, CUdeviceptr,
                             unsigned long long) {
  void* const reserved = reserve(nullptr, size);
  if (reserved == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(reserved);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t size) {
  return ::munmap(host(address), size) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemMap(CUdeviceptr address, std::size_t size, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  Physical* const memory = physical(handle);
  void* const mapped = ::mmap(host(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                              memory->file.get(), static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(handles_mutex);
  ++memory->users;
  mappings[address] = {memory, size, device_of(memory->properties)};
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t size) {
  const std::lock_guard lock(handles_mutex);
  const auto found = mappings.find(address);
  if (found == mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  reserve(host(address), size);
  release(found->second.physical);
  mappings.erase(found);
  return CUDA_SUCCESS;
}

// All may do everything here from the moment when it is mapped.
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
  return initialised();
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  const auto range = mapped_at(reinterpret_cast<CUdeviceptr>(address));
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(handles_mutex);
  Physical* const memory = mappings.at(range->begin).physical;
  ++memory->users;
  *handle = handle_of(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  *properties = physical(handle)->properties;
  return CUDA_SUCCESS;
}
