#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace safelaunch::profile {

/// Where a text stops being printable UTF-8: the offset of the first control character (line ends
/// and tabs are fine) or of the first byte of a sequence that is not UTF-8; nullopt where all is
/// well. What comes from a file reaches the terminal, where an escape sequence would act.
[[nodiscard]] std::optional<std::size_t> find_unprintable(std::string_view text);

}  // namespace safelaunch::profile
