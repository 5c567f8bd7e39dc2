#include "assignments.h"

#include <algorithm>

#include "characters.h"
#include "pattern.h"
#include "safelaunch/redact/redactor.h"

// The sign behind a name decides how its value is read: an assignment, an item of a list, the text
// of a tag, or none, where only an option or a sentence shows a value. A reader that finds no
// secret leaves the text behind the name to the next name, so each look ahead has a limit.
namespace safelaunch::redact {
namespace {

constexpr Words kBlockMarks("| > |- >- |+ >+");  // of YAML
constexpr Words kSetters("setenv -gx -x ENV");   // of the variable behind them
constexpr Words kSayings("is is: was was:");     // between a name and its value
constexpr Words kLoginHeaders("authorization proxy-authorization cookie set-cookie");
constexpr std::size_t kLongestGap = 200;       // blanks between a name and its value
constexpr std::size_t kLongestSentence = 160;  // bytes from a name to the value at the line's end

std::size_t skip(const NamePlace& name, std::size_t at, bool (*what)(char)) {
  const std::size_t last = std::min(at + kLongestGap, name.text.size());
  while (at < last && what(name.text[at])) ++at;
  return at;
}

std::size_t skip_blanks(const NamePlace& name, std::size_t at) {
  return skip(name, at, is_blank);
}

// The text from a place on.
std::string_view from(const NamePlace& name, std::size_t at, std::size_t longest) {
  return name.text.substr(std::min(at, name.text.size()), longest);
}

// The sign that joins a name to its value.
struct Joint {
  enum class Kind { none, assigned, listed, tagged } kind = Kind::none;
  bool closed_quote = false;  ///< the name stands in quotes
  bool colon = false;
  std::size_t value = 0;  ///< the begin of the value
};

// `: str = `: the type of a variable of Python or TypeScript.
std::size_t skip_type(const NamePlace& name, std::size_t at) {
  static const Pattern kType(R"([A-Za-z][\w[\]| ]{0,58} =)");
  const std::size_t length = kType.length_in(from(name, at, 64));
  return length == 0 || name.at(at + length) == '=' ? at : skip_blanks(name, at + length);
}

Joint joint_of(const NamePlace& name) {
  Joint joint;
  std::size_t at = name.end;
  while (is_quote(name.at(at)) || name.at(at) == '\\') {
    joint.closed_quote = true;
    ++at;
  }
  while (name.at(at) == ']' || name.at(at) == ')') ++at;
  at = skip_blanks(name, at);
  const char sign = name.at(at);
  const char next = name.at(at + 1);
  if (sign == '=' || sign == ':' || sign == '|') {
    joint.kind = Joint::Kind::assigned;
    joint.colon = sign == ':' && next != '=';
    at += next == '=' || next == '>' ? 2 : 1;
    if (sign == ':' && name.at(at) == ':') return {};  // a scope of C++
    joint.value = skip_blanks(name, at);
    if (joint.colon) joint.value = skip_type(name, joint.value);
  } else if (sign == ',' && joint.closed_quote) {
    joint.kind = Joint::Kind::listed;
    joint.value = skip(name, at + 1, is_space);
  } else if (sign == '>' || joint.closed_quote) {
    joint.kind = Joint::Kind::tagged;
    joint.value = sign == '>' ? at + 1 : at;
  } else {
    joint.value = at;
  }
  return joint;
}

bool ends_bare_value(char c) {
  return is_space(c) || is_quote(c) || c == '<';
}

// `,` `;` `&` end a value where another name follows: "password=x,uid=1".
bool begins_next(const NamePlace& name, std::size_t at) {
  static const Pattern kNext(R"([,;&][\w-]{1,39}=)");
  const char c = name.at(at);
  return (c == ',' || c == ';' || c == '&') && kNext.length_in(from(name, at, 42)) != 0;
}

SecretPlace bare_value(const NamePlace& name, std::size_t begin) {
  // A refused value is read again, so its length is limited: a `key` of thousands of bytes is none.
  const std::size_t longest = name.kind == NameKind::key ? 256 : std::string_view::npos;
  const std::string_view text =
      name.text.substr(0, longest == name.text.npos ? longest : begin + longest);
  std::size_t end = begin;
  while (end < text.size() && !ends_bare_value(text[end]) && !begins_next(name, end)) ++end;
  constexpr std::string_view kClosing = ",;)]}>.";
  while (end > begin && kClosing.find(name.text[end - 1]) != std::string_view::npos) --end;
  return {begin, end};
}

// Up to the closing quote; a text in three quotes, up to three more.
SecretPlace quoted_value(const NamePlace& name, std::size_t quote) {
  const char mark = name.at(quote);
  const std::string_view text = name.text;
  if (name.at(quote + 1) == mark && name.at(quote + 2) == mark) {
    const std::string_view three = text.substr(quote, 3);
    return {quote + 3, std::min(text.find(three, quote + 3), text.size())};
  }
  std::size_t end = quote + 1;
  while (end < text.size() && text[end] != mark && text[end] != '\n')
    end += text[end] == '\\' && name.at(end + 1) != '\n' ? 2 : 1;
  return {quote + 1, std::min(end, text.size())};
}

// Finds the quote that opens the value, behind `(`, `b`, `f`, `$`, SecretStr( and the like.
std::size_t opening_quote(const NamePlace& name, std::size_t at) {
  static const Pattern kOpening(R"((?:[\w($@]{0,2}|[\w(.$@]{0,38}\()["'`])");
  const std::size_t length = kOpening.length_in(from(name, at, 40));
  return length == 0 ? std::string_view::npos : at + length - 1;
}

// Whether the name is the first word of its line, but for `export` and the like.
bool begins_line(const NamePlace& name) {
  static const Pattern kLead(R"((?:\A|\n)[ \t+-]{0,32}(?:export |declare -x |ENV )?\z)");
  return name.begin == 0 || kLead.length_at_end(name.text.substr(0, name.begin)) != 0;
}

// ---- one place after the other where a value may stand

// "UID=sa;PWD=/x" opens a database: its PWD is no variable.
bool is_behind_semicolon(const NamePlace& name) {
  const std::size_t before = name.text.substr(0, name.begin).find_last_not_of(" \t");
  return before != std::string_view::npos && name.text[before] == ';';
}

// Adds a secret that has a name. Anything else is left to the next reader.
bool add_if_secret(const NamePlace& name, SecretPlace place, SecretPlaces& places) {
  if (place.begin >= place.end || place.end > name.text.size()) return false;
  const std::string_view value = name.text.substr(place.begin, place.end - place.begin);
  const bool is_variable = !value.starts_with('/') || !is_behind_semicolon(name);
  if (!is_secret_value(name.kind, is_variable ? name.name() : "", value)) return false;
  places.push_back(place);
  return true;
}

std::size_t below(const NamePlace& name, std::size_t at, SecretPlaces& places) {
  const std::size_t end =
      find_in_indented(name.text, name.begin, name.kind, UserNames::spared, places);
  if (end > end_of_line(name.text, at)) return end;
  // A quoted value on the next line, however it is indented.
  const std::size_t value = skip(name, at, is_space);
  const std::size_t quote = opening_quote(name, value);
  if (quote == std::string_view::npos) return name.end;
  const SecretPlace place = quoted_value(name, quote);
  return add_if_secret(name, place, places) ? place.end : name.end;
}

// Skips the signs that YAML puts before a value: `!vault |`, `&anchor value`.
std::size_t skip_tags(const NamePlace& name, std::size_t at) {
  static const Pattern kTags(R"((?:[!&][A-Za-z][^\s]{0,58}[ \t]+){1,2})");
  return at + kTags.length_in(from(name, at, 2 * kLongestGap));
}

// "auth: connection refused": a word of small letters, and more behind it on its line. No token is.
bool begins_sentence(const NamePlace& name, SecretPlace word) {
  const std::string_view text = name.text.substr(word.begin, word.end - word.begin);
  const std::size_t next = skip_blanks(name, word.end);
  return std::all_of(text.begin(), text.end(), is_lower) && next > word.end &&
         is_alphanumeric(name.at(next));
}

std::size_t assigned(const NamePlace& name, const Joint& joint, SecretPlaces& places) {
  if (from(name, joint.value, kRedacted.size()) == kRedacted) return joint.value + kRedacted.size();
  const std::size_t at = joint.colon ? skip_tags(name, joint.value) : joint.value;
  const std::string_view near = from(name, at, 8);
  const std::string_view rest = near.substr(0, end_of_line(near, 0));
  if (rest.empty() || kBlockMarks.has(rest)) return below(name, at, places);
  if (name.at(at) == '[' || name.at(at) == '{' || name.at(at) == '(') {
    if (name.at(at) == '(' && opening_quote(name, at) == at) return name.end;
    const std::size_t found = places.size();
    const std::size_t end = find_in_brackets(name.text, at, name.kind, places);
    if (places.size() > found) return end;
    if (name.at(at + 1) != '"') return name.end;
  }
  const std::size_t quote = opening_quote(name, at);
  if (quote != std::string_view::npos) {
    const SecretPlace place = quoted_value(name, quote);
    return add_if_secret(name, place, places) ? place.end : name.end;
  }
  SecretPlace place = bare_value(name, at);
  const std::string_view value = name.text.substr(place.begin, place.end - place.begin);
  if (name.kind == NameKind::token && joint.colon && begins_sentence(name, place)) return name.end;
  if (const std::size_t call = value.find('('); call != std::string_view::npos && call > 0) {
    const std::size_t found = places.size();
    const std::size_t end = find_in_brackets(name.text, at + call, name.kind, places);
    if (places.size() > found) return end;
  }
  if (!add_if_secret(name, place, places)) return name.end;
  if (name.kind != NameKind::key && begins_line(name) && !joint.closed_quote)
    places.back().end = place.end = end_of_line(name.text, at);
  return place.end;
}

std::size_t listed(const NamePlace& name, const Joint& joint, SecretPlaces& places) {
  const std::size_t quote = opening_quote(name, joint.value);
  if (quote == std::string_view::npos || name.at(quote + 1) == '-') return name.end;
  const SecretPlace place = quoted_value(name, quote);
  if (name.at(skip_blanks(name, place.end + 1)) == ':') return name.end;  // the next name
  return add_if_secret(name, place, places) ? place.end : name.end;
}

// The `value` of an attribute, a member or a line beside the name: name="x" value="y".
std::size_t value_beside(const NamePlace& name, std::size_t at, SecretPlaces& places) {
  static const Pattern kMember(R"([ \t\n,"'/]*value)");
  const std::size_t length = kMember.length_in(from(name, at, 80));
  if (length == 0) return name.end;
  const NamePlace value{name.text, at + length - 5, at + length, name.kind};
  const Joint joint = joint_of(value);
  if (joint.kind != Joint::Kind::assigned) return name.end;
  const std::size_t end = assigned(value, joint, places);
  return end == value.end ? name.end : end;
}

std::size_t tagged(const NamePlace& name, const Joint& joint, SecretPlaces& places) {
  const bool element = name.begin > 0 && name.text[name.begin - 1] == '<';
  const bool attribute = name.begin > 6 && name.at(joint.value - 1) == '>';
  if (!element && !(attribute && joint.closed_quote))
    return value_beside(name, joint.value, places);
  const std::size_t end = std::min(name.text.find_first_of("<\n", joint.value), name.text.size());
  return add_if_secret(name, {joint.value, end}, places) ? end : name.end;
}

std::string_view word_at(const NamePlace& name, std::size_t at) {
  std::size_t end = at;
  while (end < name.text.size() && end - at < kLongestSentence && !is_space(name.text[end])) ++end;
  return name.text.substr(at, end - at);
}

std::string_view word_before(const NamePlace& name) {
  std::size_t end = name.begin;
  while (end > 0 && is_blank(name.text[end - 1]) && name.begin - end < 8) --end;
  std::size_t begin = end;
  while (begin > 0 && end - begin < 40 && !is_space(name.text[begin - 1])) --begin;
  return name.text.substr(begin, end - begin);
}

std::size_t add_word(const NamePlace& name, std::size_t at, SecretPlaces& places) {
  if (is_quote(name.at(at)))
    if (const SecretPlace quoted = quoted_value(name, at); name.at(quoted.end) == name.at(at))
      return add_if_secret(name, quoted, places) ? quoted.end : name.end;
  SecretPlace place{at, at + word_at(name, at).size()};
  constexpr std::string_view kClosing = "\"',;)]}>.";
  while (place.end > at && kClosing.find(name.text[place.end - 1]) != std::string_view::npos)
    --place.end;
  while (place.begin < place.end && is_quote(name.text[place.begin])) ++place.begin;
  return add_if_secret(name, place, places) ? place.end : name.end;
}

// `--name value`, `setenv NAME value`, and files of lines like `requirepass value`.
bool takes_next_word(const NamePlace& name, std::size_t at) {
  if (name.at(at) == '-' || name.at(at) == '\n') return false;
  if (name.name().starts_with('-')) return name.kind != NameKind::key;
  const std::string_view before = word_before(name);
  if (kSetters.has(before)) return true;
  if (name.kind != NameKind::secret) return false;
  const std::string line = lower(name.name());
  if (line == "requirepass" || line == "masterauth") return true;
  // "login user password value", and `password value` alone on its line.
  if (line != "password" && line != "passwd") return false;
  const bool last = name.at(at + word_at(name, at).size()) == '\n';
  if (last && begins_line(name)) return true;
  const std::size_t login = name.begin < 100 ? 0 : name.begin - 100;
  return name.text.substr(login, name.begin - login).find("login ") != std::string_view::npos;
}

// A value in quotes: "using password 'x'".
std::size_t quoted_in_sentence(const NamePlace& name, std::size_t at, SecretPlaces& places) {
  const SecretPlace place = quoted_value(name, at);
  const std::string_view value = name.text.substr(place.begin, place.end - place.begin);
  if (from(name, place.end + 1, 10) == " not found") return name.end;  // the name of a secret
  const bool plain_word = value.size() < 6 || value.find(' ') != std::string_view::npos;
  const bool shown = name.kind == NameKind::secret ? !plain_word : looks_like_password(value);
  return shown && add_if_secret(name, place, places) ? place.end : name.end;
}

std::string_view without_tail(std::string_view word, std::string_view tail) {
  while (!word.empty() && tail.find(word.back()) != tail.npos) word.remove_suffix(1);
  return word;
}

// A value behind the sentence's last colon: "invalid token for the registry: x".
std::size_t at_end_of_sentence(const NamePlace& name, std::size_t at, SecretPlaces& places) {
  const std::string_view rest = name.text.substr(at, kLongestSentence + 1);
  const std::size_t end = at + end_of_line(rest, 0);
  if (end - at > kLongestSentence) return name.end;
  const std::size_t colon = rest.substr(0, end - at).rfind(": ");
  if (colon == std::string_view::npos) return name.end;
  const std::string_view told = rest.substr(0, colon);
  if (stands_beside_secrets(told.substr(told.find_last_of(" \t") + 1))) return name.end;
  const std::size_t value = skip_blanks(name, at + colon + 2);
  const std::string_view last =
      without_tail(name.text.substr(value, end - value), " \t\r\"',;)]}>.");
  if (last.find(' ') != std::string_view::npos || !looks_like_password(last)) return name.end;
  return add_if_secret(name, {value, value + last.size()}, places) ? end : name.end;
}

// "Your password is x", "using password 'x'", "invalid token: x".
std::size_t in_sentence(const NamePlace& name, std::size_t at, SecretPlaces& places) {
  if (name.at(at) == '\n') return name.end;
  std::string_view word = word_at(name, at);
  if (kSayings.has(word)) {
    at = skip_blanks(name, at + word.size());
    word = word_at(name, at);
  }
  if (is_quote(name.at(at))) return quoted_in_sentence(name, at, places);
  word = without_tail(word, "\"',;)]}>.");
  const bool dotted = name.name().find('.') != std::string_view::npos;  // x.token is code
  if (dotted ? looks_random(word) : looks_like_password(word)) return add_word(name, at, places);
  return dotted ? name.end : at_end_of_sentence(name, at, places);
}

// Whether the whole rest of a header is secret: "Authorization: Digest … response=…".
bool is_header_of_login(std::string_view name) {
  return kLoginHeaders.has(lower(name.substr(0, 32)));
}

bool has_parameters(std::string_view value) {
  static const Pattern kSchemes("(?i)digest |oauth |aws4-|hawk |token token");
  return kSchemes.length_in(value.substr(0, 16)) != 0;
}

std::size_t header(const NamePlace& name, const Joint& joint, SecretPlaces& places) {
  std::size_t begin = joint.value;
  char quote = name.begin > 0 ? name.text[name.begin - 1] : '\0';
  if (is_quote(name.at(begin))) quote = name.at(begin++);
  const std::size_t line = end_of_line(name.text, begin);
  const std::string_view value = name.text.substr(begin, line - begin);
  const bool cookie = to_lower(name.name().back()) == 'e';
  if (value.empty() || (cookie && value.find('=') == std::string_view::npos)) return name.end;
  std::size_t end = line;
  if (is_quote(quote) && !has_parameters(value)) end = std::min(name.text.find(quote, begin), line);
  if (end > begin) places.push_back({begin, end});
  return std::max(end, name.end);
}

}  // namespace

std::size_t find_value_of(const NamePlace& name, SecretPlaces& places) {
  const Joint joint = joint_of(name);
  if (joint.kind == Joint::Kind::assigned && is_header_of_login(name.name()))
    return header(name, joint, places);
  switch (joint.kind) {
    case Joint::Kind::assigned: return assigned(name, joint, places);
    case Joint::Kind::listed: {
      const std::size_t end = listed(name, joint, places);
      return end != name.end ? end : value_beside(name, joint.value, places);
    }
    case Joint::Kind::tagged: return tagged(name, joint, places);
    case Joint::Kind::none: break;
  }
  if (joint.value == name.end || is_space(name.at(name.end))) {
    if (joint.value != name.end && takes_next_word(name, joint.value))
      return add_word(name, joint.value, places);
    // `- name: X` and `value: Y` on the next line.
    if (name.at(joint.value) == '\n') {
      const std::size_t end = value_beside(name, joint.value, places);
      if (end != name.end) return end;
    }
    if (joint.value != name.end) return in_sentence(name, joint.value, places);
  }
  return name.end;
}

}  // namespace safelaunch::redact
