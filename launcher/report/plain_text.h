#pragma once

#include <string>
#include <string_view>

namespace safelaunch::report {

/// The output of a job as text that any screen can show. Escape sequences are removed (colours,
/// titles, clipboard writes). Of a line that was drawn over, such as a progress bar, the last state
/// stays. Control characters, broken UTF-8, and characters that turn the reading direction become
/// U+FFFD. Takes linear time whatever the bytes are.
[[nodiscard]] std::string plain_text(std::string_view bytes);

}  // namespace safelaunch::report
