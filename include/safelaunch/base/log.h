#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace safelaunch {

/// How much safelaunch says about its own working (-q, default, -v). The job's output and the
/// report are not log messages and do not go through here.
enum class Verbosity { quiet, normal, verbose };

/// Sets how much is said; before the first call it is `normal`.
void set_verbosity(Verbosity verbosity);

/// Takes one line without its end. With none, lines go straight to stderr; a run hands them to the
/// one that keeps them out of the job's lines.
using LogWriter = std::function<void(std::string_view line)>;
void set_log_writer(LogWriter to);

void log_debug(std::string_view message);    ///< shown with -v
void log_warning(std::string_view message);  ///< shown unless -q
void log_error(std::string_view message);    ///< always shown

}  // namespace safelaunch
