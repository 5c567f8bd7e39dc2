#pragma once

#include <string>

#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/probe/session.h"

namespace safelaunch {

/// The catalogue's id of what NCCL's lines, or the words of the probe's ranks, show; empty:
/// nothing.
[[nodiscard]] std::string cause_of(const ProbeOutcome& outcome);

/// What a probe that failed says of an attempt under the same profile, which was ended for it.
[[nodiscard]] Diagnosis diagnose(const ProbeOutcome& outcome);

}  // namespace safelaunch
