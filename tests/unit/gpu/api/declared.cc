#include "doubles/cuda/api.h"
#include "doubles/nccl/declarations.h"
#include "doubles/nvml/api.h"
#include "facts.h"

namespace safelaunch::gpu {

ApiFacts declared_facts() {
  ApiFacts facts;
#include "facts.inc"
  facts["NCCL's magic"] = std::to_string(ncclConfig_t{}.magic);
  return facts;
}

}  // namespace safelaunch::gpu
