#pragma once

#include <map>
#include <optional>
#include <string>

#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/diagnose/evidence.h"

namespace safelaunch::run {

/// Ranks that others waited for in vain, each at a place that no profile changes: in the script's
/// own code, outside torch, JAX and NCCL, or stopped by somebody. A job that stands so again stands
/// so under every profile.
struct Impasse {
  std::string cause;
  Stage stage = Stage::spawned;
  std::map<Rank, std::string> places;  ///< "train.py:50 never_reaches_init", "stopped"
  bool operator==(const Impasse&) const = default;
};

/// nullopt where the attempt did not hang so, or where it cannot be seen where a rank stands.
[[nodiscard]] std::optional<Impasse> impasse_of(const diagnose::Evidence& evidence,
                                                const diagnose::Diagnosis& diagnosis);

/// "rank 1 stands in train.py:50 never_reaches_init again".
[[nodiscard]] std::string describe_again(const Impasse& impasse);

}  // namespace safelaunch::run
