#pragma once

#include "attempt_record.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/finding.h"
#include "safelaunch/gpu/facts.h"

/// A GPU that fails under a job makes CUDA report an error that a fault in the program's own
/// kernels may bring about, too; and a job that finds no memory may have asked for too much, or
/// have found another's process there. So the driver is asked once the job has ended.
namespace safelaunch::run {

/// Whether an attempt ended with an error of CUDA's, or without memory.
[[nodiscard]] bool blames_cuda(const AttemptRecord& record);

/// The GPUs of a job with this environment that the driver calls ill, and those that processes
/// which have outlived the job fill.
[[nodiscard]] std::vector<Finding> troubled_gpus(const gpu::Facts& facts,
                                                 const Environment& environment);

}  // namespace safelaunch::run
