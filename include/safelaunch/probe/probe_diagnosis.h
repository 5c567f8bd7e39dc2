#pragma once

#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/probe/session.h"

namespace safelaunch::probe {

/// The catalogue's id of what NCCL's lines, or the words of the probe's ranks, show; empty:
/// nothing.
[[nodiscard]] std::string cause_of(const Outcome& outcome);

/// The diagnosis of an attempt that was ended because a probe under the same profile had failed.
[[nodiscard]] diagnose::Diagnosis diagnosis_of(const Outcome& outcome);

}  // namespace safelaunch::probe
