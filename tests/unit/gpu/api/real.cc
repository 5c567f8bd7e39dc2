// Without this macro nvml.h gives names to their newest versions, which may be of other types.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <cuda.h>
#include <nccl.h>
#include <nvml.h>

#include "facts.h"

namespace safelaunch::gpu {

ApiFacts real_facts() {
  ApiFacts facts;
#include "facts.inc"
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  facts["NCCL's magic"] = std::to_string(config.magic);
  return facts;
}

}  // namespace safelaunch::gpu
