#include "secret_places.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "safelaunch/base/redact.h"
#include "safelaunch/report/redactor.h"

namespace safelaunch {
namespace {

using re2::StringPiece;

std::string_view view(const StringPiece& piece) {
  return {piece.data(), piece.size()};
}

std::size_t offset(std::string_view text, std::string_view part) {
  return static_cast<std::size_t>(part.data() - text.data());
}

// A pattern whose first group is the secret.
class SecretPattern {
 public:
  explicit SecretPattern(const std::string& pattern) : pattern_(pattern, RE2::Quiet) {
    if (!pattern_.ok()) throw std::logic_error(pattern_.error());
  }

  void find(std::string_view text, std::vector<SecretPlace>& places) const {
    StringPiece rest(text.data(), text.size());
    StringPiece secret;
    while (!rest.empty() && RE2::FindAndConsume(&rest, pattern_, &secret)) {
      const std::size_t begin = offset(text, view(secret));
      places.push_back({begin, begin + secret.size()});
    }
  }

 private:
  RE2 pattern_;
};

std::string well_known_tokens() {
  std::string beginnings;
  for (const std::string_view beginning : kTokenBeginnings)
    beginnings += (beginnings.empty() ? "" : "|") + RE2::QuoteMeta(beginning);
  return "\\b((?:" + beginnings + ")[A-Za-z0-9_.-]{8,})";
}

const auto& shapes() {
  static const std::array<SecretPattern, 11> patterns{
      SecretPattern(R"((?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?)"
                    R"((?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\z)))"),
      // A tail may begin within a key.
      SecretPattern(R"(\A((?:[A-Za-z0-9+/=\\]*(?:\s|\\n)+)*)-----END [A-Z0-9 ]*PRIVATE KEY)"),
      SecretPattern(R"(://[^\s/:@"'<>]*:([^\s"'<>]+)@)"),
      SecretPattern(R"(://([^\s/:@"'<>]{16,})@)"),
      SecretPattern(R"((?i)authorization\\*["']?\s*[:=]\s*\\*["']?([^"'\n]+))"),
      SecretPattern(R"((?i)\bbearer\s+([A-Za-z0-9._~+/=-]{8,}))"),
      SecretPattern(R"((?i)\bcookie\\*["']?:\s*([^\n]+))"),
      SecretPattern(R"((?i)[?&;](?:x-amz-[a-z-]+|sig|signature|key|code|auth)=([^&\s"'<>#]+))"),
      SecretPattern(R"((?i)\b(?:login\s+\S+\s+password|setenv\s+\w*(?:token|key|secret|passw)\w*))"
                    R"(\s+(\S+))"),
      SecretPattern(well_known_tokens()),
      SecretPattern(R"(\b(eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?))"),
  };
  return patterns;
}

// A name that may be a secret's, and what stands between it and its value. The value's end is
// looked for only if the name is one: else a long line would be read again for each name.
const RE2& assignment() {
  static const RE2 pattern(R"(([\w.-]*(?i:token|secret|passw|passphrase|credential|key)[\w-]*))"
                           R"((\\*["']?\]?[ \t]*(?:=>|:=|=|:|>)[ \t]*|\\*["'][ \t]*,\s*|[ \t]+))",
                           RE2::Quiet);
  return pattern;
}

struct Assigned {
  std::string_view text;  // all of it
  std::string_view name;
  std::string_view between;
  std::size_t value = 0;  // where it begins

  [[nodiscard]] char at(std::size_t i) const { return i < text.size() ? text[i] : '\n'; }
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string without(std::string text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part))
    text.erase(at, part.size());
  return text;
}

bool names_a_secret(std::string_view name) {
  constexpr std::size_t kLongestName = 200;
  if (name.size() > kLongestName) name.remove_prefix(name.size() - kLongestName);
  // A tokenizer is none, and stands in every second log.
  const std::string plain = without(without(lower(name), "tokeniz"), "tokenis");
  return is_secret_name(plain) || plain.find("passphrase") != std::string::npos ||
         name.ends_with("_KEY");  // a variable's; cache_key is any program's
}

// 128, 4.5e3, True, none, <pad>: what "tokens" have in a log of a language model.
bool is_count_or_marker(std::string_view value) {
  constexpr std::array<std::string_view, 6> kWords{"true", "false", "none", "null", "not", "is"};
  if (value.empty() || value[0] == '<' || value.starts_with("[PAD")) return true;
  if (std::find(kWords.begin(), kWords.end(), lower(value)) != kWords.end()) return true;
  return value.size() <= 12 &&
         value.find_first_not_of("0123456789.,eE+-%") == std::string_view::npos;
}

bool ends_word(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

// Whether the name is the first word of its line, but for `export` and the like.
bool begins_line(const Assigned& assigned) {
  constexpr std::size_t kLongestLead = 24;
  const std::size_t at = offset(assigned.text, assigned.name);
  const std::size_t from = at > kLongestLead ? at - kLongestLead : 0;
  std::string_view lead = assigned.text.substr(from, at - from);
  const std::size_t line = lead.rfind('\n');
  if (line == std::string_view::npos && from != 0) return false;
  if (line != std::string_view::npos) lead.remove_prefix(line + 1);
  const std::size_t word = lead.find_first_not_of(" \t+->");
  if (word == std::string_view::npos) return true;
  lead.remove_prefix(word);
  return lead == "export " || lead == "declare -x ";
}

SecretPlace quoted_place(const Assigned& assigned, std::size_t quote) {
  std::size_t end = quote + 1;
  for (; assigned.at(end) != '\n' && assigned.at(end) != assigned.at(quote); ++end)
    if (assigned.at(end) == '\\' && assigned.at(end + 1) != '\n') ++end;
  return {quote + 1, std::min(end, assigned.text.size())};
}

// \"value\": one string within another.
SecretPlace escaped_place(const Assigned& assigned, std::size_t quote) {
  std::size_t end = quote + 1;
  while (assigned.at(end) != '\n' && assigned.at(end) != assigned.at(quote)) ++end;
  while (end > quote + 1 && assigned.at(end - 1) == '\\') --end;
  return {quote + 1, end};
}

SecretPlace bare_place(const Assigned& assigned) {
  std::size_t end = assigned.value;
  while (!ends_word(assigned.at(end))) end += assigned.at(end) == '\\' ? 2 : 1;
  end = std::min(end, assigned.text.size());
  constexpr std::string_view kClosing = "\"',;)]}>";
  while (end > assigned.value && kClosing.find(assigned.at(end - 1)) != std::string_view::npos)
    --end;
  return {assigned.value, end};
}

SecretPlace rest_of_line(const Assigned& assigned) {
  return {assigned.value, std::min(assigned.text.find('\n', assigned.value), assigned.text.size())};
}

// Whether the value behind the name can belong to it: `NAME=value`, `--name value`, 'NAME',
// 'value'.
bool belongs(const Assigned& assigned, bool quoted) {
  if (assigned.between.find_first_of("=:>") != std::string_view::npos) return true;
  if (assigned.at(assigned.value) == '-') return false;  // the next option
  const bool listed = assigned.between.find(',') != std::string_view::npos;
  return assigned.name.starts_with('-') || (listed && quoted);
}

std::size_t opening_quote(const Assigned& assigned) {
  std::size_t at = assigned.value;
  while (assigned.at(at) == '\\') ++at;
  return is_quote(assigned.at(at)) ? at : std::string_view::npos;
}

// The place of the value, empty where it is no secret.
SecretPlace place_of(const Assigned& assigned) {
  const std::size_t quote = opening_quote(assigned);
  const bool quoted = quote != std::string_view::npos;
  if (!belongs(assigned, quoted) || !names_a_secret(assigned.name)) return {};
  const SecretPlace place = !quoted                   ? bare_place(assigned)
                            : quote == assigned.value ? quoted_place(assigned, quote)
                                                      : escaped_place(assigned, quote);
  if (!is_secret(assigned.name, assigned.text.substr(place.begin, place.end - place.begin)))
    return {};
  const bool joined = assigned.between.find_first_of("=:") != std::string_view::npos;
  return joined && !quoted && begins_line(assigned) ? rest_of_line(assigned) : place;
}

void find_assigned(std::string_view text, std::vector<SecretPlace>& places) {
  StringPiece rest(text.data(), text.size());
  StringPiece name;
  StringPiece between;
  while (!rest.empty() && RE2::FindAndConsume(&rest, assignment(), &name, &between)) {
    const Assigned assigned{text, view(name), view(between),
                            offset(text, view(between)) + between.size()};
    const SecretPlace place = place_of(assigned);
    if (place.begin == place.end) continue;  // what is no secret's value may hold another name
    places.push_back(place);
    rest = StringPiece(text.data() + place.end, text.size() - place.end);
  }
}

}  // namespace

std::vector<SecretPlace> secret_places(std::string_view text) {
  std::vector<SecretPlace> places;
  for (const SecretPattern& pattern : shapes()) pattern.find(text, places);
  find_assigned(text, places);
  return places;
}

bool is_secret(std::string_view name, std::string_view value) {
  const bool may_count = lower(name.substr(0, 200)).find("token") != std::string::npos;
  return names_a_secret(name) && !(may_count && is_count_or_marker(value));
}

}  // namespace safelaunch
