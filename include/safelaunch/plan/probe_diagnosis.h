#pragma once

#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/probe/session.h"

namespace safelaunch::plan {

/// The catalogue's id of what NCCL's lines, or the words of the probe's ranks, show; empty:
/// nothing.
[[nodiscard]] std::string cause_of(const probe::Outcome& outcome);

/// The diagnosis of an attempt that was ended because a probe under the same profile had failed.
[[nodiscard]] diagnose::Diagnosis diagnose(const probe::Outcome& outcome);

}  // namespace safelaunch::plan
