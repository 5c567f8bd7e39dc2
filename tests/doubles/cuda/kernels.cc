// Kernels are launched and do nothing. Where the knob says `stuck` they never end.
#include <unistd.h>
#include "cuda/api.h"

#include "common/knobs.h"
#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/init.h"

using namespace safelaunch::testing;

namespace {

CUresult never_ending(CUstream stream) {
  return put(stream, {[] {
                        while (knob_has(kCudaKnob, "stuck")) ::pause();
                      },
                      Manner::waiting});
}

}  // namespace

CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream stream, void**, void**) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  // Nobody can tell whether a kernel that does nothing had its turn.
  return knob_has(kCudaKnob, "stuck") ? never_ending(stream)
                                       : put(stream, {{}, Manner::quick});
}

/// For the runtime's double, which knows some kernels by name and does them truly.
extern "C" CUresult cuDoubleRun(CUstream stream, std::function<void()> work) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (knob_has(kCudaKnob, "stuck")) return never_ending(stream);
  return put(stream, {std::move(work), Manner::quick});
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                        config->blockDimX, config->blockDimY, config->blockDimZ,
                        config->sharedMemBytes, config->hStream, parameters, extra);
}
