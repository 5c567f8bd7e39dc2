#pragma once

#include <string>
#include <string_view>

namespace safelaunch::cli {

/// A verb's answer, harmless to the terminal that shows it: it may quote a neighbour's command line
/// or a foreign log. Colours, tabs and newlines stay. All other controls, what turns the reading
/// direction and broken UTF-8 are shown as text ("^[", "<U+202E>", "\x9b"), so that nothing hides.
[[nodiscard]] std::string harmless(std::string_view text);

}  // namespace safelaunch::cli
