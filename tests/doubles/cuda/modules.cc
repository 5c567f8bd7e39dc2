// Code that a program has compiled itself, as XLA does: every module loads, and its kernels do
// nothing.
#include "cuda/api.h"

#include <array>

#include "cuda/context.h"

using namespace safelaunch::testing;

struct CUmod_st {};
struct CUfunc_st {};

CUresult cuModuleLoadFatBinary(CUmodule* module, const void*) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  *module = new CUmod_st;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadFatBinary(module, image);
}

CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  static CUfunc_st any;
  *function = &any;
  return CUDA_SUCCESS;
}

/// A variable of the device; nobody reads what is written there.
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* size, CUmodule, const char*) {
  static std::array<char, 65536> any;
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(any.data());
  if (size != nullptr) *size = any.size();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) {
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  *blocks = 1;
  return CUDA_SUCCESS;
}
