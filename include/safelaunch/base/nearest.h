#pragma once

#include <span>
#include <string>
#include <string_view>

namespace safelaunch {

/// The candidate that a person most likely meant by `word` (Damerau-Levenshtein distance, at most a
/// third of its length), or an empty view where none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

/// "; did you mean 'x'?" where there is a near candidate, else empty: the tail of an error.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace safelaunch
