#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace safelaunch::output {

/// The length of the harmless escape sequence at the front of `text`, which begins with ESC.
/// Harmless are colours (SGR), erase in line, and motion within the line. 0 for any other sequence,
/// npos if the text ends before that is known.
[[nodiscard]] std::size_t harmless_sequence(std::string_view text);

/// Makes the output of one worker harmless to a terminal that it shares with others. Printable text
/// in valid UTF-8, \t, \r, \n and the sequences above pass. Everything else (window titles,
/// clipboard access, cursor addressing, C1 controls also where UTF-8 encodes them, NULs, broken
/// UTF-8) is shown as text: "^[", "^@", "\x9b". Nothing is hidden, so nothing can hide behind it.
///
/// A sequence may be split between two calls; at most kLongestHeld bytes are held back for it.
class EscapeFilter {
 public:
  static constexpr std::size_t kLongestHeld = 32;

  /// Appends the harmless form of `bytes` to `safe`.
  void pass(std::string_view bytes, std::string& safe);

  /// Ends the output: appends the bytes that were held back.
  void finish(std::string& safe);

 private:
  std::string_view pass_special(std::string_view bytes, std::string& safe);

  std::string held_;
};

}  // namespace safelaunch::output
