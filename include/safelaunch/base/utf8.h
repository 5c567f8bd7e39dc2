#pragma once

#include <cstddef>
#include <string_view>

namespace safelaunch {

/// The front of a text in UTF-8.
struct CodePoint {
  enum class Kind {
    valid,
    incomplete,  ///< the text ends within a code point; more bytes may complete it
    invalid,     ///< `length` bytes (one) that begin no code point
  };
  Kind kind = Kind::invalid;
  char32_t value = 0;
  std::size_t length = 1;
};

/// Takes the first code point of a text that is not empty. Overlong forms, surrogates and values
/// above U+10FFFF are invalid, since terminals do not agree on what they are.
[[nodiscard]] CodePoint first_code_point(std::string_view text);

}  // namespace safelaunch
