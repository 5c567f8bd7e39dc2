#include "safelaunch/base/strings.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "safelaunch/base/format.h"

// Letters are compared as ASCII, because a job prints bytes and a locale would change what they
// mean. A misspelt word is found by its distance, in which two swapped neighbours are one mistake.
// UTF-8 is taken apart strictly, so that what we call a character is one for every terminal.
namespace safelaunch {
namespace {

// Optimal string alignment: to insert, delete or substitute a letter costs one, and so does to swap
// two neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) table[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) table[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

struct Lead {
  std::size_t length;
  char32_t bits;
  char32_t smallest;  // a lower value in this form is overlong
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xc0 && byte < 0xe0) return {2, byte & 0x1fU, 0x80};
  if (byte >= 0xe0 && byte < 0xf0) return {3, byte & 0x0fU, 0x800};
  if (byte >= 0xf0 && byte < 0xf8) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

bool is_scalar(char32_t value) {
  return value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view take_word(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const auto word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_wide(char32_t character) {
  constexpr std::array<std::pair<char32_t, char32_t>, 11> kWide{{{0x1100, 0x115f},
                                                                 {0x2e80, 0x303e},
                                                                 {0x3041, 0xa4cf},
                                                                 {0xac00, 0xd7a3},
                                                                 {0xf900, 0xfaff},
                                                                 {0xfe30, 0xfe6f},
                                                                 {0xff00, 0xff60},
                                                                 {0xffe0, 0xffe6},
                                                                 {0x1f300, 0x1f64f},
                                                                 {0x1f680, 0x1faff},
                                                                 {0x20000, 0x3fffd}}};
  return std::ranges::any_of(kWide, [=](const auto& range) {
    return character >= range.first && character <= range.second;
  });
}

std::string_view cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (longest > 0 && continues(text[longest])) --longest;
  return text.substr(0, longest);
}

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + '\'';
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
  return plain ? std::string(text) : shell_quoted(text);
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_word(word);
  }
  return line;
}

std::string rough_size(std::uint64_t bytes) {
  constexpr double kStep = 1024.0;
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  const double kibibytes = static_cast<double>(bytes) / kStep;
  if (kibibytes < kStep) return fmt::format("{:.0f} KiB", kibibytes);
  const double mebibytes = kibibytes / kStep;
  if (mebibytes < kStep) return fmt::format("{:.0f} MiB", mebibytes);
  return fmt::format("{:.1f} GiB", mebibytes / kStep);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  // A word of kilobytes is no typing error, and the table is quadratic.
  if (word.empty() || word.size() > 100) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? std::string() : "; did you mean '" + std::string(near) + "'?";
}

CodePoint first_code_point(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Lead lead = lead_of(byte_at(0));
  char32_t value = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {CodePoint::Kind::incomplete, 0, i};
    if ((byte_at(i) & 0xc0U) != 0x80) return {};
    value = (value << 6U) | (byte_at(i) & 0x3fU);
  }
  if (lead.length == 0 || value < lead.smallest || !is_scalar(value)) return {};
  return {CodePoint::Kind::valid, value, lead.length};
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const CodePoint front = first_code_point(text);
    const bool is_control = front.value < ' ' || (front.value >= 0x7f && front.value < 0xa0);
    const bool shows = front.kind == CodePoint::Kind::valid && !is_control;
    shown += shows ? text.substr(0, front.length) : "?";
    text.remove_prefix(front.length);
  }
  return shown;
}

bool may_be_host(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".-_:%").find(c) != std::string_view::npos;
  };
  // One colon alone stands before a port.
  return !text.empty() && std::ranges::all_of(text, fits) && std::ranges::count(text, ':') != 1;
}

bool is_loopback_name(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace safelaunch
