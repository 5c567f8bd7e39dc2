#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace safelaunch::report {

/// Builds HTML. Markup is taken from literals of ours only; whatever comes from anywhere else goes
/// through text(), which escapes it, so that no word of a job can become markup.
class HtmlWriter {
 public:
  template <std::size_t Size>
  HtmlWriter& markup(const char (&literal)[Size]) {
    html_.append(literal, Size - 1);
    return *this;
  }

  /// Fit for the content of elements and for quoted attributes.
  HtmlWriter& text(std::string_view text);

  /// The same, at most that many bytes of it, with a "…" where something is cut off.
  HtmlWriter& text(std::string_view text, std::size_t most);

  /// A length or a place in percent of the whole.
  HtmlWriter& percent(double share);

  [[nodiscard]] std::size_t size() const { return html_.size(); }
  [[nodiscard]] std::string take() { return std::move(html_); }

 private:
  std::string html_;
};

/// The text without what is behind `most` bytes; never within a UTF-8 sequence.
[[nodiscard]] std::string_view cut(std::string_view text, std::size_t most);

}  // namespace safelaunch::report
