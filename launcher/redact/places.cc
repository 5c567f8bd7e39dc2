#include "places.h"

#include <algorithm>
#include <array>
#include <utility>

#include "assignments.h"
#include "characters.h"
#include "safelaunch/redact/redactor.h"

// The text is read once from left to right. Each run of letters, digits and `_-.` is one word, and
// a word may hold a token or be the name of a secret. The search goes on behind the secret.
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

// A text within JSON within JSON is in two coats. More are as good as encrypted.
constexpr int kMostCoats = 3;

bool is_name_byte(char c) {
  return is_identifier(c) || c == '-' || c == '.';
}

// The word before, where one blank is between: the "API" of "API key".
std::string_view word_before(std::string_view text, std::size_t at) {
  if (at < 2 || !is_blank(text[at - 1])) return {};
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < 20 && is_letter(text[begin - 1])) --begin;
  return text.substr(begin, at - 1 - begin);
}

void find_tokens(std::string_view text, SecretPlace word, SecretPlaces& places) {
  for (std::size_t at = word.begin; at < word.end; ++at) {
    if (at > word.begin && is_identifier(text[at - 1])) continue;
    const std::size_t length = token_length(text, at);
    if (length == 0) continue;
    places.push_back({at, at + length});
    at += length;
  }
}

// Returns the end of the text that it has dealt with.
std::size_t find_named(std::string_view text, SecretPlace word, SecretPlaces& places) {
  auto [begin, end] = word;
  if (!may_name_a_secret(text.substr(begin, end - begin))) return end;
  while (end > begin && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
  const NameKind kind = kind_of_name(text.substr(begin, end - begin), word_before(text, begin));
  if (kind == NameKind::plain) return word.end;
  return std::max(find_value_of({text, begin, end, kind}, places), word.end);
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

SecretPlaces secret_places(std::string_view text) {
  SecretPlaces places;
  find_keys(text, places);
  find_in_tables(text, places);
  find_in_addresses(text, places);
  find_by_names_and_forms(text, places);
  find_by_surroundings(text, places);
  return places;
}

void find_by_names_and_forms(std::string_view text, SecretPlaces& places) {
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && !is_name_byte(text[at])) ++at;
    std::size_t end = at;
    while (end < text.size() && is_name_byte(text[end])) ++end;
    find_tokens(text, {at, end}, places);
    if (end > at) at = find_named(text, {at, end}, places);
  }
}

std::vector<DecodedText> coats_of(std::string_view text) {
  std::vector<DecodedText> coats;
  for (int i = 0; i < kMostCoats; ++i) {
    DecodedText below = decoded(coats.empty() ? text : std::string_view(coats.back().text));
    if (below.steps.empty()) break;
    coats.push_back(std::move(below));
  }
  return coats;
}

DecodedText unwrapped(std::string_view text) {
  const auto is_broken = [](std::string_view line) {
    return (line.size() == 64 || line.size() == 76) &&
           std::all_of(line.begin(), line.end(), is_base64);
  };
  DecodedText result;
  bool in_block = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_line(text, at);
    const std::string_view line = text.substr(at, end - at);
    const bool broken = is_broken(line);
    if (broken || in_block) {
      result.steps.push_back({result.text.size(), at});
      result.text += line;
      if (!broken) result.text += '\n';
    }
    in_block = broken;
    at = end + 1;
  }
  return result;
}

SecretPlace in_original(std::span<const DecodedText> coats, SecretPlace place) {
  for (auto coat = coats.rbegin(); coat != coats.rend(); ++coat) {
    place.begin = coat->original(place.begin);
    place.end = coat->original(place.end);
  }
  return place;
}

}  // namespace safelaunch::redact
