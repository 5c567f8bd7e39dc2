#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch {

/// A text with one coat taken off: what JSON, Python and C escape (\", \/, \u0022, \x2f, \n), what
/// URLs write as %2F, HTML as &quot;, shells as '"'"', and without the colours of a terminal. Only
/// lines that have a coat are in it. Remembers where each byte stood, so that what is found in it
/// can be found in the original.
struct DecodedText {
  /// From here on, byte `decoded` of the text stood at `original`.
  struct Step {
    std::size_t decoded = 0;
    std::size_t original = 0;
  };

  std::string text;
  std::vector<Step> steps;  ///< ascending; empty: nothing was coated

  [[nodiscard]] std::size_t original(std::size_t decoded) const;
};

[[nodiscard]] DecodedText decoded(std::string_view text);

}  // namespace safelaunch
