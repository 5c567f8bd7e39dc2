#pragma once

#include <re2/re2.h>

#include <string>
#include <string_view>

namespace safelaunch::redact {

/// A regular expression over bytes, in which `.` is any byte. Linear time.
class Pattern {
 public:
  explicit Pattern(const std::string& expression) : expression_(expression, options()) {}

  /// Whether it is the whole text.
  [[nodiscard]] bool is(std::string_view text) const {
    return RE2::FullMatch({text.data(), text.size()}, expression_);
  }

  /// The bytes that it takes from the front of the text; 0 where it does not begin there.
  [[nodiscard]] std::size_t length_in(std::string_view text) const {
    return length_of_match(text, RE2::ANCHOR_START);
  }

  /// The bytes that it, which ends in \z, takes from the text's end; 0 where it does not stand
  /// there.
  [[nodiscard]] std::size_t length_at_end(std::string_view text) const {
    return length_of_match(text, RE2::UNANCHORED);
  }

 private:
  [[nodiscard]] std::size_t length_of_match(std::string_view text, RE2::Anchor anchor) const {
    re2::StringPiece found;
    return expression_.Match({text.data(), text.size()}, 0, text.size(), anchor, &found, 1)
               ? found.size()
               : 0;
  }

  static RE2::Options options() {
    RE2::Options options(RE2::Latin1);
    options.set_dot_nl(true);
    options.set_never_capture(true);
    options.set_log_errors(false);
    return options;
  }

  RE2 expression_;
};

}  // namespace safelaunch::redact
