// Memory that is registered with NCCL, and reductions of the application's own.
#include "nccl/api.h"

#include <cstring>

#include "nccl/driver.h"
#include "nccl/reduce.h"

using namespace safelaunch::testing;

struct ncclWindow_vidmem {
  void* memory;
};

ncclResult_t ncclMemAlloc(void** memory, std::size_t size) {
  *memory = nullptr;
  if (size == 0 || !context_of_caller()) return ncclInvalidArgument;
  CUdeviceptr address = 0;
  if (driver().allocate(&address, size) != CUDA_SUCCESS) return ncclUnhandledCudaError;
  *memory = reinterpret_cast<void*>(address);
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void* memory) {
  if (!context_of_caller()) return ncclInvalidArgument;
  return driver().free(reinterpret_cast<CUdeviceptr>(memory)) == CUDA_SUCCESS
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

// Registered memory is used as any other.
ncclResult_t ncclCommRegister(ncclComm_t comm, void* memory, std::size_t, void** handle) {
  if (const ncclResult_t result = ready(comm); result != ncclSuccess) return result;
  *handle = memory;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(ncclComm_t comm, void*) {
  return ready(comm);
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* memory, std::size_t,
                                    ncclWindow_t* window, int) {
  if (const ncclResult_t result = ready(comm); result != ncclSuccess) return result;
  *window = new ncclWindow_vidmem{memory};
  return ncclSuccess;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  delete window;
  return ready(comm);
}

ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void** memory) {
  *memory = window->memory;
  return ready(comm);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (const ncclResult_t result = ready(comm); result != ncclSuccess) return result;
  if (!scalar || size_of(type) == 0) return ncclInvalidArgument;
  Factor factor;
  if (residence == ncclScalarDevice)
    factor.on_device = scalar;
  else
    std::memcpy(factor.value.data(), scalar, size_of(type));
  *op = comm->body->add_reduction(factor);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  if (!comm) return ncclInvalidArgument;
  return comm->body->remove_reduction(op) ? ncclSuccess : ncclInvalidArgument;
}
