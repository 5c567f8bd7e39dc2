#pragma once

#include <string>
#include <string_view>

namespace safelaunch {

/// Whether a character is not seen itself, and changes what is seen: it turns the reading
/// direction, has no width, or ends a line. Joiners of letters and emoji are none of these.
[[nodiscard]] bool hides(char32_t value);

/// A text of ours, harmless to the terminal that shows it: it may quote a neighbour's command line,
/// a foreign log or a word of the user's. Colours, tabs and newlines stay. All other controls, what
/// hides() and broken UTF-8 are shown as text ("^[", "<U+202E>", "\x9b").
[[nodiscard]] std::string harmless(std::string_view text);

}  // namespace safelaunch
