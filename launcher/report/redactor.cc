#include "safelaunch/report/redactor.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "safelaunch/base/format.h"
#include "safelaunch/base/redact.h"
#include "secret_places.h"

namespace safelaunch {
namespace {

// Enough for any job; a hostile log must not make the search for them slow.
constexpr std::size_t kMostKnown = 2'000;
constexpr std::size_t kLongestKnown = 4'096;

using re2::StringPiece;

std::string percent_encoded(std::string_view value) {
  constexpr std::string_view kPlain = "-._~";
  std::string text;
  for (const char c : value) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (alphanumeric || kPlain.find(c) != std::string_view::npos)
      text += c;
    else
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

std::string json_escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string alternatives(const std::vector<std::string>& values) {
  std::set<std::string> spellings;
  for (const std::string& value : values) {
    if (value.empty() || value.size() > kLongestKnown) continue;
    if (spellings.size() >= kMostKnown) break;
    spellings.insert({value, percent_encoded(value), json_escaped(value)});
  }
  std::string pattern;
  for (const std::string& spelling : spellings)
    pattern += (pattern.empty() ? "(" : "|") + RE2::QuoteMeta(spelling);
  return pattern.empty() ? pattern : pattern + ")";
}

RE2::Options for_many_literals() {
  RE2::Options options(RE2::Quiet);
  options.set_longest_match(true);  // of two values the longer one, or its rest would stay
  options.set_max_mem(256 << 20);
  return options;
}

std::string replaced(std::string_view text, std::vector<SecretPlace> places) {
  std::sort(places.begin(), places.end(),
            [](const SecretPlace& a, const SecretPlace& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t done = 0;
  for (const SecretPlace& place : places) {
    if (place.end <= done) continue;
    if (place.begin >= done) {
      result += text.substr(done, place.begin - done);
      result += kRedacted;
    }
    done = place.end;
  }
  return result.append(text.substr(done));
}

}  // namespace

struct Redactor::KnownValues {
  explicit KnownValues(const std::string& text) : pattern(text, for_many_literals()) {}
  RE2 pattern;
};

Redactor::Redactor(std::vector<std::string> known_values) {
  if (const std::string pattern = alternatives(known_values); !pattern.empty())
    known_ = std::make_unique<const KnownValues>(pattern);
}

Redactor::Redactor(Redactor&&) noexcept = default;
Redactor& Redactor::operator=(Redactor&&) noexcept = default;
Redactor::~Redactor() = default;

std::string Redactor::redact(std::string_view text) const {
  std::vector<SecretPlace> places = secret_places(text);
  if (known_) {
    StringPiece rest(text.data(), text.size());
    StringPiece found;
    while (!rest.empty() && RE2::FindAndConsume(&rest, known_->pattern, &found)) {
      const auto begin = static_cast<std::size_t>(found.data() - text.data());
      places.push_back({begin, begin + found.size()});
    }
  }
  return replaced(text, std::move(places));
}

bool is_strong_secret(std::string_view value) {
  if (value.size() < 8 || value.size() > kLongestKnown || value == kRedacted) return false;
  if (value.starts_with("http://") || value.starts_with("https://")) return false;
  if (value.find('\n') != std::string_view::npos) return false;
  const bool digit = value.find_first_of("0123456789") != std::string_view::npos;
  const bool letter = std::any_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  return (digit && letter) || value.size() >= 16;
}

std::vector<std::string> secrets_shown_in(std::string_view text) {
  std::vector<std::string> result;
  for (const SecretPlace& place : secret_places(text)) {
    const std::string_view value = text.substr(place.begin, place.end - place.begin);
    if (is_strong_secret(value)) result.emplace_back(value);
  }
  return result;
}

std::vector<std::string> secrets_of(const Environment& environment) {
  constexpr std::size_t kShortest = 6;  // a shorter one would take half of every log with it
  std::vector<std::string> result;
  for (const auto& [name, value] : environment)
    if (value.size() >= kShortest && is_secret(name, value) && !name.ends_with("_FILE"))
      result.push_back(value);
  return result;
}

}  // namespace safelaunch
