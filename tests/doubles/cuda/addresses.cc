// The driver's knowledge of an address.
#include "cuda/api.h"

#include <cstdint>

#include "cuda/memory.h"

using namespace safelaunch::testing;

namespace {

std::optional<Range> range_of(CUdeviceptr address) {
  if (const auto allocated = allocated_at(address)) return allocated;
  if (const auto mapped = mapped_at(address)) return mapped;
  return pinned_at(address);
}

}  // namespace

CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, std::size_t* size, CUdeviceptr address) {
  const auto range = range_of(address);
  if (!range) return CUDA_ERROR_NOT_FOUND;
  if (begin) *begin = range->begin;
  if (size) *size = range->size;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const auto range = range_of(address);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) =
          range->device == kOnHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = range->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<int*>(value) = allocated_at(address).has_value();
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *static_cast<std::uint64_t*>(value) =
          mapped_at(address) ? unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR} : 0;
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}
