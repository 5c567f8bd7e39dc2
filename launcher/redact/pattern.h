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
    re2::StringPiece found;
    const re2::StringPiece all(text.data(), text.size());
    return expression_.Match(all, 0, all.size(), RE2::ANCHOR_START, &found, 1) ? found.size() : 0;
  }

 private:
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
