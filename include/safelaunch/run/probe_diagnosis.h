#pragma once

#include <string>

#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/probe/session.h"

namespace safelaunch::run {

/// The catalogue's id of what NCCL's lines, or the words of the probe's ranks, show; empty:
/// nothing.
[[nodiscard]] std::string cause_of(const probe::Outcome& outcome);

/// What a probe that failed says of an attempt under the same profile, which was ended for it.
[[nodiscard]] diagnose::Diagnosis diagnose(const probe::Outcome& outcome);

}  // namespace safelaunch::run
