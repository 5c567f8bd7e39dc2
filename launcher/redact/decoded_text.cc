#include "decoded_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "characters.h"

namespace safelaunch::redact {
namespace {

// One coated byte at the front of a text: the length of its coat, and the byte below.
struct Coated {
  std::size_t length = 0;  // 0: the byte is as it stands
  char byte = 0;
  bool dropped = false;  // nothing is below
};

int hexadecimal(std::string_view digits) {
  int value = 0;
  for (const char c : digits) {
    const int digit = hexadecimal_digit(c);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return digits.empty() ? -1 : value;
}

Coated coded(std::string_view text, std::size_t lead, std::size_t digits) {
  if (text.size() < lead + digits) return {};
  const int value = hexadecimal(text.substr(lead, digits));
  if (value <= 0 || value > 0xff) return {};
  return {lead + digits, static_cast<char>(value)};
}

Coated escaped(std::string_view text) {
  if (text.size() < 2) return {};
  switch (text[1]) {
    case 'n': return {2, '\n'};
    case 'r': return {2, '\r'};
    case 't': return {2, '\t'};
    case 'x': return coded(text, 2, 2);
    case 'u': return coded(text, 2, 4);
    case '\n': return {2, ' '};  // a command that goes on in the next line
    case '\\':
    case '/':
    case '"':
    case '\'':
    case '$':
    case '&': return {2, text[1]};
    default: return {};
  }
}

Coated entity(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 9> kNamed{{{"&quot;", '"'},
                                                                     {"&amp;", '&'},
                                                                     {"&lt;", '<'},
                                                                     {"&gt;", '>'},
                                                                     {"&apos;", '\''},
                                                                     {"&#34;", '"'},
                                                                     {"&#39;", '\''},
                                                                     {"&#47;", '/'},
                                                                     {"&#43;", '+'}}};
  for (const auto& [name, byte] : kNamed)
    if (text.starts_with(name)) return {name.size(), byte};
  if (text.size() < 6 || !text.starts_with("&#x") || text[5] != ';') return {};
  Coated found = coded(text, 3, 2);
  if (found.length != 0) ++found.length;
  return found;
}

Coated colour(std::string_view text) {
  if (text.size() < 3 || text[1] != '[') return {};
  std::size_t end = 2;
  while (end < text.size() && (is_digit(text[end]) || text[end] == ';')) ++end;
  if (end == text.size() || !is_letter(text[end])) return {};
  return {end + 1, 0, true};
}

Coated quote_in_quotes(std::string_view text) {
  if (text.starts_with("'\"'\"'")) return {5, '\''};
  if (text.starts_with("'\\''")) return {4, '\''};
  return {};
}

Coated coat_at(std::string_view text) {
  switch (text[0]) {
    case '\\': return escaped(text);
    case '%': return coded(text, 1, 2);
    case '&': return entity(text);
    case '\x1b': return colour(text);
    case '\'': return quote_in_quotes(text);
    default: return {};
  }
}

bool begins_coat(char c) {
  return c == '\\' || c == '%' || c == '&' || c == '\x1b' || c == '\'';
}

std::size_t next_coat(std::string_view text, std::size_t at) {
  while (at < text.size() && !begins_coat(text[at])) ++at;
  return at;
}

}  // namespace

std::size_t DecodedText::original(std::size_t decoded) const {
  const auto next =
      std::upper_bound(steps.begin(), steps.end(), decoded,
                       [](std::size_t at, const Step& step) { return at < step.decoded; });
  if (next == steps.begin()) return decoded;
  const Step& step = *std::prev(next);
  return step.original + (decoded - step.decoded);
}

// Lines without a coat are left out, since they have been searched already.
DecodedText decoded(std::string_view text) {
  DecodedText result;
  std::size_t done = 0;
  std::size_t line_end = 0;
  for (std::size_t at = next_coat(text, 0); at < text.size(); at = next_coat(text, at)) {
    const Coated found = coat_at(text.substr(at));
    if (found.length == 0) {
      ++at;
      continue;
    }
    if (at >= line_end) {
      result.text.append(text, done, line_end - done);
      const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
      done = before == std::string_view::npos ? 0 : before + 1;
      result.steps.push_back({result.text.size(), done});
    }
    result.text.append(text, done, at - done);
    if (!found.dropped) result.text += found.byte;
    at += found.length;
    done = at;
    result.steps.push_back({result.text.size(), at});
    if (at > line_end) line_end = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  result.text.append(text, done, std::max(line_end, done) - done);
  return result;
}

}  // namespace safelaunch::redact
