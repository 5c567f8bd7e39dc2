#pragma once

#include "safelaunch/diagnose/evidence.h"

namespace safelaunch::diagnose {

/// With which status a job ends that somebody told to end: the one that a rank chose, or else 128
/// and the first signal, whatever ended the ranks after it. Needs `evidence.signal`.
[[nodiscard]] int status_after_signal(const Evidence& evidence);

}  // namespace safelaunch::diagnose
