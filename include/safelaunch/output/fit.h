#pragma once

#include <string>
#include <string_view>

namespace safelaunch::output {

/// Cuts a line to the columns of a terminal. Colours (SGR) are kept, take no column and are
/// switched off at the end. Other escape sequences and control characters are left out, so the
/// result never moves the cursor but to the right.
[[nodiscard]] std::string fit_to_columns(std::string_view line, int columns);

}  // namespace safelaunch::output
