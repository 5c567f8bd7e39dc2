#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The tools for texts that every room uses. ASCII alone counts, whatever the locale, because a job
/// prints bytes.
namespace safelaunch {

/// The words behind each other: "a, b, c" with ", " between them. `words` is any range of texts.
template <class Words>
[[nodiscard]] std::string join(const Words& words, std::string_view between) {
  std::string text;
  bool first = true;
  for (const auto& word : words) {
    if (!first) text += between;
    first = false;
    text += word;
  }
  return text;
}

/// The words as a person lists them: "a, b and c".
template <class Words>
[[nodiscard]] std::string list_in_words(const Words& words) {
  std::string text;
  std::size_t left = words.size();
  for (const auto& word : words) {
    if (!text.empty()) text += left == 1 ? " and " : ", ";
    text += word;
    --left;
  }
  return text;
}

[[nodiscard]] std::string lower(std::string_view text);

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether the text consists of digits, one at least; it may be too long for any number.
[[nodiscard]] bool is_number(std::string_view text);

/// Bytes as two hexadecimal digits each.
[[nodiscard]] std::string to_hex(std::string_view bytes);

/// The text without the spaces, tabs and line ends around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Takes the number at the start off `text`; nullopt where there is none, or one that does not fit
/// into `Number`. A sign is a minus alone, and no blank may stand before it.
template <class Number = int>
[[nodiscard]] std::optional<Number> take_number(std::string_view& text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// The whole of `text` as a number; nullopt for anything else, so for "8x", " 8" and "".
template <class Number = int>
[[nodiscard]] std::optional<Number> to_number(std::string_view text, int base = 10) {
  const auto value = take_number<Number>(text, base);
  return text.empty() ? value : std::nullopt;
}

/// The number at the start of `text`, 0 where there is none.
template <class Number = std::uint64_t>
[[nodiscard]] Number number_in(std::string_view text, int base = 10) {
  return take_number<Number>(text, base).value_or(0);
}

/// Takes the next word off `text`, up to `separator`.
[[nodiscard]] std::string_view take_word(std::string_view& text, char separator = ' ');

/// The part of a path behind its last slash.
[[nodiscard]] std::string_view base_name(std::string_view path);

/// Whether terminals draw the character over two columns: East Asian wide and full-width ones, and
/// emoji.
[[nodiscard]] bool is_wide(char32_t character);

/// At most `longest` bytes of a text in UTF-8, with no half character at the end.
[[nodiscard]] std::string_view cut(std::string_view text, std::size_t longest);

/// A word that every POSIX shell reads as exactly this text.
[[nodiscard]] std::string shell_quoted(std::string_view text);

/// As shell_quoted(), for a person to read: a word that needs no quotes has none.
[[nodiscard]] std::string shell_word(std::string_view text);

/// A command line, for a person to read and to copy.
[[nodiscard]] std::string shell_line(std::span<const std::string> words);

/// "512 bytes", "64 MiB", "23.5 GiB".
[[nodiscard]] std::string rough_size(std::uint64_t bytes);

/// The candidate that a person most likely meant by `word` (Damerau-Levenshtein distance, at most a
/// third of its length), or an empty view where none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

/// "; did you mean 'x'?" where there is a near candidate, else empty: the tail of an error.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);

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

/// The text of a stranger (a path, a command line) for a terminal: "?" for each control character
/// and each byte that is no UTF-8. The controls of ISO 6429 above 0x7f begin sequences, too.
[[nodiscard]] std::string printable(std::string_view text);

/// Whether a text may be a host: a name, an IPv4 address, or an IPv6 address, perhaps in brackets;
/// no URL, and no port behind it.
[[nodiscard]] bool may_be_host(std::string_view text);

/// Whether this name can mean no other host. A host's own name may be what other hosts know it by.
[[nodiscard]] bool is_loopback_name(std::string_view host);

}  // namespace safelaunch
