#pragma once

#include <span>

#include "safelaunch/trial/tried.h"

namespace safelaunch::trial {

/// The beginning of a scene's line, shown while its ranks run: "gloo       2 ranks  ".
[[nodiscard]] std::string begin_of(const Scene& scene);

/// The rest of the line, and where the scene failed, the reason, the remedy and the way to its
/// record below it.
[[nodiscard]] std::string rest_of(const Tried& tried);

/// The line of the same scene with fewer ranks: "alone: ✓".
[[nodiscard]] std::string line_of_fewer(const Tried& tried);

/// The last lines.
[[nodiscard]] std::string in_words(const Conclusion& conclusion);

/// The facts of Python and host that stand before the scenes in JSON.
struct JsonGround {
  std::string interpreter;
  Survey python;
  std::string nccl;      ///< the version of the NCCL that torch loads; empty where there is none
  std::string findings;  ///< the findings on the host, as JSON
};

/// The whole trial as JSON (docs/test.md).
[[nodiscard]] std::string trial_json(const JsonGround& ground, std::span<const Tried> tried,
                                     const Conclusion& conclusion);

}  // namespace safelaunch::trial
