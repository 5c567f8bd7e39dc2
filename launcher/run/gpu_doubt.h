#pragma once

#include "attempt_record.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/gpu/facts.h"

/// A GPU that fails under a job makes CUDA report an error that a fault in the program's own
/// kernels may bring about, too. So the driver is asked once the job has ended.
namespace safelaunch::run {

/// Whether an attempt ended with an error of CUDA's.
[[nodiscard]] bool blames_cuda(const AttemptRecord& record);

/// The GPUs of a job with this environment that the driver calls ill, a sentence each without its
/// full stop.
[[nodiscard]] std::vector<std::string> ill_gpus(const gpu::Facts& facts,
                                                const Environment& environment);

}  // namespace safelaunch::run
