// Kernels are launched and do nothing: their place in the stream is all that there is of them.
// Where the knob says `stuck` they never end.
#include <unistd.h>
#include "cuda/api.h"

#include "common/knobs.h"
#include "cuda/context.h"
#include "cuda/init.h"

using namespace safelaunch::testing;

CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream stream, void**, void**) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  stream_or_default(stream)->queue->add([] {
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
