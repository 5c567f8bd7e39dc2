#pragma once

#include <string>
#include <string_view>

namespace safelaunch::report {

/// What a job wrote, as text that can be shown anywhere: escape sequences are gone (colours,
/// titles, clipboard writes), of a line that was drawn over (a progress bar) the last state is
/// left, and what no screen can show or what turns the reading direction is U+FFFD, as is broken
/// UTF-8. Takes linear time whatever the bytes are.
[[nodiscard]] std::string plain_text(std::string_view bytes);

}  // namespace safelaunch::report
