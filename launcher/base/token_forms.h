#pragma once

#include <cstddef>
#include <string_view>

namespace safelaunch {

/// The length of the token that begins at `at`, by the form that its service gives its tokens
/// (hf_…, ghp_…, a signed eyJ….eyJ….…), or 0. Looks at a bounded number of bytes but for the
/// token's own.
[[nodiscard]] std::size_t token_length(std::string_view text, std::size_t at);

}  // namespace safelaunch
