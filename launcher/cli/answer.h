#pragma once

#include <string>
#include <string_view>

#include "safelaunch/base/result.h"

namespace safelaunch::cli {

/// Writes a verb's answer to stdout, whole and at once. Returns the status 0.
int answer(std::string_view text);

/// Says on stderr why a verb cannot do what it was asked. Returns the status for that error.
int refuse(const Error& error);

/// A word of warning on stderr.
void warn(std::string_view text);

/// A verb's answer, harmless to the terminal that shows it: it may quote a neighbour's command line
/// or a foreign log. Colours, tabs and newlines stay. All other controls, what turns the reading
/// direction and broken UTF-8 are shown as text ("^[", "<U+202E>", "\x9b"), so that nothing hides.
[[nodiscard]] std::string harmless(std::string_view text);

}  // namespace safelaunch::cli
