#pragma once

#include <span>
#include <string>

#include "safelaunch/doctor/examine.h"
#include "safelaunch/doctor/looked_at.h"

namespace safelaunch::doctor {

/// Writes the findings for a reader, or one line that says that there are none. Paint::on puts a
/// terminal's colours round the severities.
enum class Paint { off, on };
[[nodiscard]] std::string render_advices(std::span<const Advice> advices, Paint paint);

/// Writes what was looked at, a line each, with a check mark where nothing was found.
[[nodiscard]] std::string render_looked_at(std::span<const LookedAt> themes, Paint paint);

/// Writes one finding in one line: "shm-small: /dev/shm is …; remedy: …".
[[nodiscard]] std::string in_one_line(const Finding& finding);

/// Writes {"blocked": …, "findings": [{id, severity, evidence, remedy, fixable, files, pids}],
/// "fixed": […], "versions": {"torch": …, "nccl": …}, "looked_at": [{what, seen, ok}]}. The
/// versions are those of the job's Python.
[[nodiscard]] std::string advices_json(const HostFacts& facts, std::span<const Advice> advices,
                                       const FixReport& fixed);

}  // namespace safelaunch::doctor
