#pragma once

#include <span>
#include <string_view>

#include "safelaunch/doctor/examine.h"

namespace safelaunch::doctor {

/// One theme that the doctor has looked at, and the facts that it saw there.
struct LookedAt {
  std::string_view name;  ///< "python"
  std::string seen;       ///< "torch 2.13.0, NCCL 2.29.7"
  bool is_well = true;    ///< no finding above a note belongs to it
};

/// The themes at which `safelaunch doctor` has looked, a line each, so that a host without findings
/// shows that it was examined. A theme of which no fact was read is left out.
[[nodiscard]] std::vector<LookedAt> looked_at(const HostFacts& facts,
                                              std::span<const Advice> advices);

/// Writes the findings for a reader, or one line that says that there are none.
[[nodiscard]] std::string render_advices(std::span<const Advice> advices);

/// Writes what was looked at, a line each, with a check mark where nothing was found.
[[nodiscard]] std::string render_looked_at(std::span<const LookedAt> themes);

/// Writes one finding in one line: "shm-small: /dev/shm is …; help: …".
[[nodiscard]] std::string in_one_line(const Finding& finding);

/// Writes {"blocked": …, "findings": [{id, severity, evidence, remedy, fixable, files, pids}],
/// "fixed": […], "versions": {"torch": …, "nccl": …}, "looked_at": [{what, seen, ok}]}. The
/// versions are those of the job's Python.
[[nodiscard]] std::string advices_json(const HostFacts& facts, std::span<const Advice> advices,
                                       const FixReport& fixed);

}  // namespace safelaunch::doctor
