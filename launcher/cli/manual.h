#pragma once

#include <string>

namespace safelaunch::cli {

/// safelaunch(1), for `man`.
[[nodiscard]] std::string manual_page();

/// The README's table of exit statuses.
[[nodiscard]] std::string exit_statuses_as_markdown();

}  // namespace safelaunch::cli
