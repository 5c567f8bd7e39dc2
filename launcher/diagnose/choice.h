#pragma once

#include "case.h"
#include "safelaunch/diagnose/diagnosis.h"

namespace safelaunch::diagnose {

/// The cause that is named, and how sure it is.
struct CauseChoice {
  const Cause* cause = nullptr;
  Certainty certainty = Certainty::guess;
};

/// What the state of the system proves; else what the texts of the first failing rank show; else
/// what fits the stage. The host's facts then confirm or refine it.
[[nodiscard]] CauseChoice choose(const Case& now);

}  // namespace safelaunch::diagnose
