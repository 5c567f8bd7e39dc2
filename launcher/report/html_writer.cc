#include "html_writer.h"

#include <algorithm>

#include "safelaunch/base/format.h"

namespace safelaunch::report {

HtmlWriter& HtmlWriter::text(std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&': html_ += "&amp;"; break;
      case '<': html_ += "&lt;"; break;
      case '>': html_ += "&gt;"; break;
      case '"': html_ += "&quot;"; break;
      case '\'': html_ += "&#39;"; break;
      default: html_ += c;
    }
  }
  return *this;
}

HtmlWriter& HtmlWriter::text(std::string_view all, std::size_t most) {
  const std::string_view shown = cut(all, most);
  text(shown);
  return shown.size() < all.size() ? markup("…") : *this;
}

HtmlWriter& HtmlWriter::percent(double share) {
  html_ += fmt::format("{:.2f}%", 100 * std::clamp(share, 0.0, 1.0));
  return *this;
}

std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace safelaunch::report
