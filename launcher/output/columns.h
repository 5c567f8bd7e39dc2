#pragma once

#include <string>
#include <string_view>

namespace safelaunch::output {

/// The part of a line that fits into so many columns of a terminal. Colours (SGR) are kept, take no
/// column and are switched off at the end; other escape sequences and control characters are left
/// out, so that the result never moves the cursor but to the right.
[[nodiscard]] std::string fit_to_columns(std::string_view line, int columns);

/// The same, but what is cut out of a line that is too long lies before its last word: the clock of
/// a status line.
[[nodiscard]] std::string fit_keeping_last_word(std::string_view line, int columns);

}  // namespace safelaunch::output
