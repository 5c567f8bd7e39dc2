#pragma once

#include <span>

#include "safelaunch/base/embedded.h"

namespace safelaunch::report {

/// The page around a report: report.html, whose {{title}} and {{body}} are to be filled in.
[[nodiscard]] std::span<const EmbeddedFile> report_template();

}  // namespace safelaunch::report
