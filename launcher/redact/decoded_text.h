#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::redact {

/// A text with one coat taken off: the escapes of JSON, Python and C (\", \/, \u0022, \x2f, \n), of
/// URLs (%2F), HTML (&quot;) and shells ('"'"'), and the colours of a terminal. It holds only the
/// lines that have a coat, and remembers the place of each byte in the original.
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

}  // namespace safelaunch::redact
