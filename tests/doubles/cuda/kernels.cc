// Kernels are launched and do nothing. Where the knob says `stuck` they never end.
#include <unistd.h>
#include "cuda/api.h"

#include "common/knobs.h"
#include "cuda/context.h"
#include "cuda/init.h"

using namespace safelaunch::testing;

CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream stream, void**, void**) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  // Nobody can tell whether a kernel that does nothing had its turn.
  if (knob_has(kCudaKnob, "stuck"))
    stream_or_default(stream)->queue->add_waiting([] {
      while (knob_has(kCudaKnob, "stuck")) ::pause();
    });
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                        config->blockDimX, config->blockDimY, config->blockDimZ,
                        config->sharedMemBytes, config->hStream, parameters, extra);
}
