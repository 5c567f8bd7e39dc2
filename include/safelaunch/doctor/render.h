#pragma once

#include <span>
#include <string>

#include "safelaunch/doctor/examine.h"

namespace safelaunch::doctor {

/// The findings for a reader, or one line that says that there are none. `paint` puts a terminal's
/// colours round the severities.
enum class Paint { off, on };
[[nodiscard]] std::string render_advices(std::span<const Advice> advices, Paint paint);

/// The same of one finding in one line: "shm-small: /dev/shm is …; remedy: …".
[[nodiscard]] std::string in_one_line(const Finding& finding);

/// {"blocked": …, "findings": [{id, severity, evidence, remedy, fixable, files, pids}],
/// "fixed": […], "versions": {"torch": …, "nccl": …}} with what the job's Python has.
[[nodiscard]] std::string advices_json(const HostFacts& facts, std::span<const Advice> advices,
                                       const FixReport& fixed);

}  // namespace safelaunch::doctor
