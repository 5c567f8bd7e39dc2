#pragma once

#include <string_view>

namespace safelaunch {

/// The place in a source at the front of "my train.py:12 load_data → wait" or "my train.py:12 in
/// load_data": "my train.py:12". The name of a file may hold blanks; without a line, the place ends
/// at the first blank.
[[nodiscard]] std::string_view source_place(std::string_view where);

}  // namespace safelaunch
