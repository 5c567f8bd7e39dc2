#include "safelaunch/redact/redactor.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <set>
#include <unordered_map>

#include "characters.h"
#include "names.h"
#include "places.h"
#include "safelaunch/base/strings.h"

// The text and the text below each of its coats are searched in the same way, and all places are
// mapped to the text as it was given; there they are sorted, joined and replaced. A mark of an
// earlier redaction is a place too, so a text that is redacted twice is the same as one that is
// redacted once.
namespace safelaunch::redact {
namespace {

/// Values that are secret wherever they stand, as they are, within base64 or in hexadecimal. The
/// memory is bounded and forgets nothing: of a value for which there is no room it keeps a trace,
/// and a line that bears such a trace is taken out whole.
class KnownSecrets {
 public:
  /// Shorter values are not remembered, since they would take half of every log with them.
  static constexpr std::size_t kShortest = 6;

  void add(std::string_view value);
  [[nodiscard]] bool empty() const { return by_start_.empty(); }
  /// Adds all places at which a known value stands. Linear time.
  void find(std::string_view text, SecretPlaces& places) const;

 private:
  using Values = std::set<std::string, std::less<>>;

  void add_text(std::string_view text);
  void add_piece(std::string_view piece);
  void add_trace(std::string_view piece);
  [[nodiscard]] bool has_trace(std::string_view text) const;
  [[nodiscard]] std::size_t length_at(std::string_view text, std::size_t at) const;

  std::bitset<1 << 16> starts_;  // hashes of first bytes: they rule out most of a text at once
  std::unordered_map<std::uint64_t, Values> by_start_;
  std::size_t bytes_ = 0;
  std::vector<bool> traces_;  // empty until there is no room
};

constexpr std::size_t kMostKnownBytes = 4U << 20;
constexpr std::size_t kLongestPiece = 64;  // longer values are known by their pieces
constexpr std::size_t kTrace = 8;          // bytes
constexpr std::size_t kTraceBits = 1U << 23;
constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;

// The first bytes of a text as a number.
std::uint64_t start_of(std::string_view text, std::size_t bytes) {
  std::uint64_t start = 0;
  std::memcpy(&start, text.data(), std::min(bytes, text.size()));
  return start;
}

std::size_t short_hash(std::uint64_t start) {
  return (start * kMultiplier) >> 48;
}

std::size_t first_trace(std::uint64_t start) {
  return (start * kMultiplier) >> 41;
}
std::size_t second_trace(std::uint64_t start) {
  return ((start ^ 0xa5a5a5a5a5a5a5a5) * 0xc2b2ae3d27d4eb4f) >> 41;
}

// A value as it stands within base64 that begins `offset` bytes before it, without the characters
// that hold bits of its neighbours too.
std::string in_base64(std::string_view value, std::size_t offset) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t first = offset == 0 ? 0 : offset + 1;
  std::string text;
  std::size_t digit = 0;
  unsigned bits = 0;
  unsigned held = 8 * static_cast<unsigned>(offset);
  for (const char c : value) {
    bits = bits << 8U | static_cast<unsigned char>(c);
    for (held += 8; held >= 6;) {
      held -= 6;
      if (digit++ >= first) text += kDigits[bits >> held & 63U];
    }
    bits &= 63U;
  }
  return text;
}

std::string with_between(const std::string& hex, std::string_view between) {
  std::string text = hex.substr(0, 2);
  for (std::size_t at = 2; at < hex.size(); at += 2) text.append(between).append(hex, at, 2);
  return text;
}

void KnownSecrets::add(std::string_view value) {
  std::size_t begin = 0;
  while (begin < value.size()) {
    const std::size_t end = std::min(value.find('\n', begin), value.size());
    add_text(value.substr(begin, end - begin));
    begin = end + 1;
  }
  constexpr std::size_t kShortestInside = 8;
  if (value.size() < kShortestInside) return;
  // As bytes.hex(":"), xxd, a MAC address and an array write it.
  for (const std::string_view between : {"", ":", " ", "-", ", 0x"}) {
    std::string hex = with_between(to_hex(value), between);
    add_text(hex);
    std::ranges::transform(hex, hex.begin(),
                           [](char c) { return c >= 'a' && c <= 'f' ? char(c - 'a' + 'A') : c; });
    add_text(hex);
  }
  for (std::size_t offset = 0; offset < 3; ++offset) {
    std::string text = in_base64(value, offset);
    add_text(text);
    if (text.find_first_of("+/") == text.npos) continue;
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    add_text(text);
  }
}

// The last piece overlaps the one before, so that each piece is long.
void KnownSecrets::add_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at += kLongestPiece) {
    const std::size_t last = text.size() > kLongestPiece ? text.size() - kLongestPiece : 0;
    add_piece(text.substr(std::min(at, last), kLongestPiece));
  }
}

void KnownSecrets::add_piece(std::string_view piece) {
  if (piece.size() < kShortest) return;
  const std::uint64_t start = start_of(piece, kShortest);
  if (bytes_ >= kMostKnownBytes && piece.size() >= kTrace) {
    const auto known = by_start_.find(start);
    if (known == by_start_.end() || !known->second.contains(piece)) add_trace(piece);
    return;
  }
  starts_.set(short_hash(start));
  if (by_start_[start].emplace(piece).second) bytes_ += piece.size();
}

void KnownSecrets::add_trace(std::string_view piece) {
  if (traces_.empty()) traces_.resize(kTraceBits);
  const std::uint64_t start = start_of(piece, kTrace);
  traces_[first_trace(start)] = true;
  traces_[second_trace(start)] = true;
}

bool KnownSecrets::has_trace(std::string_view text) const {
  const std::uint64_t start = start_of(text, kTrace);
  return traces_[first_trace(start)] && traces_[second_trace(start)];
}

// If two values match, the longer one counts, or its rest would stay.
std::size_t KnownSecrets::length_at(std::string_view text, std::size_t at) const {
  const auto found = by_start_.find(start_of(text.substr(at), kShortest));
  if (found == by_start_.end()) return 0;
  const Values& values = found->second;
  std::string_view bound = text.substr(at, kLongestPiece);
  while (bound.size() >= kShortest) {
    // The greatest value that is not behind `bound`: every value that begins `bound` begins that
    // one too.
    const auto next = values.upper_bound(bound);
    if (next == values.begin()) return 0;
    const std::string& value = *std::prev(next);
    const auto differ = std::mismatch(bound.begin(), bound.end(), value.begin(), value.end());
    const auto common = static_cast<std::size_t>(differ.first - bound.begin());
    if (common == value.size()) return common;
    bound = bound.substr(0, common);
  }
  return 0;
}

void KnownSecrets::find(std::string_view text, SecretPlaces& places) const {
  constexpr std::size_t kLongestWord = 8;  // a shorter value counts as a word of its own only
  if (empty()) return;
  for (std::size_t at = 0; at + kShortest <= text.size();) {
    if (!traces_.empty() && at + kTrace <= text.size() && has_trace(text.substr(at))) {
      const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
      const std::size_t end = std::min(text.find('\n', at), text.size());
      places.push_back({line, end});
      at = end + 1;
      continue;
    }
    const bool maybe = starts_[short_hash(start_of(text.substr(at), kShortest))];
    const std::size_t length = maybe ? length_at(text, at) : 0;
    const bool within_word = length != 0 && length < kLongestWord &&
                             ((at > 0 && is_alphanumeric(text[at - 1])) ||
                              (at + length < text.size() && is_alphanumeric(text[at + length])));
    if (length != 0 && !within_word) places.push_back({at, at + length});
    ++at;  // the pieces of a long value overlap
  }
}

std::string replaced(std::string_view text, SecretPlaces places) {
  std::sort(places.begin(), places.end(),
            [](const SecretPlace& a, const SecretPlace& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t done = 0;
  for (const SecretPlace& place : places) {
    if (place.end <= done || place.begin >= place.end) continue;
    if (place.begin > done || done == 0) {
      result += text.substr(done, place.begin - done);
      result += kRedacted;
    }
    done = place.end;
  }
  return result.append(text.substr(done));
}

// Calls `see` with the text and with the text below each of its coats, and tells how many coats
// were taken off.
template <class See>
void for_each_layer(std::string_view text, std::span<const DecodedText> coats, See see) {
  see(text, 0);
  for (std::size_t i = 0; i < coats.size(); ++i) see(std::string_view(coats[i].text), i + 1);
}

// A mark of an earlier redaction counts as a secret, so that a place that begins or ends within the
// mark takes all of it.
SecretPlaces marks_in(std::string_view text) {
  SecretPlaces places;
  for (std::size_t at = text.find(kRedacted); at != std::string_view::npos;
       at = text.find(kRedacted, at + kRedacted.size()))
    places.push_back({at, at + kRedacted.size()});
  return places;
}

SecretPlaces all_places(std::string_view text, const KnownSecrets& known) {
  const std::vector<DecodedText> coats = coats_of(text);
  SecretPlaces places = marks_in(text);
  for_each_layer(text, coats, [&](std::string_view layer, std::size_t taken_off) {
    SecretPlaces found = secret_places(layer);
    known.find(layer, found);
    for (const SecretPlace& place : found)
      places.push_back(in_original(std::span(coats).first(taken_off), place));
  });
  const DecodedText blocks = unwrapped(text);
  SecretPlaces found;
  known.find(blocks.text, found);
  for (const SecretPlace& place : found)
    places.push_back(in_original(std::span(&blocks, 1), place));
  return places;
}

// A command line as one text, in which each word keeps its length. Blanks hide every byte that
// could be taken for a word's end or for a structure that goes on in the next words, and every word
// that shows its secret on its own.
struct JoinedWords {
  std::string text = "$ ";  // else a first word would be the name of its whole line
  std::vector<std::size_t> begins;
};

JoinedWords joined(std::span<const std::string> words) {
  constexpr std::string_view kHidden = " \t\r\n\"'`\\[]{}()<>|";
  JoinedWords result;
  for (const std::string& word : words) {
    result.begins.push_back(result.text.size());
    const bool shown = !secret_places(word).empty();
    for (const char c : word) result.text += shown || kHidden.find(c) != kHidden.npos ? '_' : c;
    result.text += ' ';
  }
  return result;
}

// The secrets that the words show together, by word.
std::vector<SecretPlaces> places_in_words(std::span<const std::string> words) {
  std::vector<SecretPlaces> result(words.size());
  const JoinedWords all = joined(words);
  for (const SecretPlace& place : secret_places(all.text)) {
    const auto behind = std::upper_bound(all.begins.begin(), all.begins.end(), place.begin);
    if (behind == all.begins.begin()) continue;
    const auto i = static_cast<std::size_t>(behind - all.begins.begin()) - 1;
    std::size_t begin = place.begin - all.begins[i];
    while (begin < words[i].size() && is_space(words[i][begin])) ++begin;  // hidden in `all`
    const std::size_t end = std::min(place.end - all.begins[i], words[i].size());
    if (begin < end) result[i].push_back({begin, end});
  }
  return result;
}

// The first word of a value that was taken to the end of its line: elsewhere it may stand alone.
std::string_view first_word(std::string_view value) {
  return value.substr(0, value.find_first_of(" \t,;&"));
}

}  // namespace

struct Redactor::Memory {
  KnownSecrets known;
};

Redactor::Redactor() : memory_(std::make_unique<Memory>()) {}
Redactor::Redactor(const std::vector<std::string>& known_values) : Redactor() {
  for (const std::string& value : known_values) learn_value(value);
}
Redactor::Redactor(const Redactor& other) : memory_(std::make_unique<Memory>(*other.memory_)) {}
Redactor::Redactor(Redactor&&) noexcept = default;
Redactor& Redactor::operator=(Redactor&&) noexcept = default;
Redactor::~Redactor() = default;

void Redactor::learn_value(std::string_view secret) {
  if (secret != kRedacted) memory_->known.add(secret);
}

void Redactor::learn_seen_value(std::string_view secret) {
  if (is_worth_learning(secret)) learn_value(secret);
}

void Redactor::learn(std::string_view text) {
  const std::vector<DecodedText> coats = coats_of(text);
  for_each_layer(text, coats, [&](std::string_view layer, std::size_t) {
    for (const SecretPlace& place : secret_places(layer)) {
      const std::string_view value = layer.substr(place.begin, place.end - place.begin);
      const std::string_view first = first_word(value);
      learn_seen_value(value);
      if (first.size() != value.size()) learn_seen_value(first);
    }
  });
}

void Redactor::learn(std::string_view name, std::string_view value) {
  if (is_secret(name, value)) learn_value(value);
  for (const SecretPlace& place : secret_places(value))
    learn_value(value.substr(place.begin, place.end - place.begin));
}

void Redactor::learn(const Environment& environment) {
  for (const auto& [name, value] : environment) learn(name, value);
}

void Redactor::learn(std::span<const std::string> words) {
  const std::vector<SecretPlaces> places = places_in_words(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    for (const SecretPlace& place : places[i])
      learn_value(word.substr(place.begin, place.end - place.begin));
    for (const SecretPlace& place : secret_places(word))
      learn_value(word.substr(place.begin, place.end - place.begin));
    learn(word);
  }
}

std::string Redactor::redact(std::string_view text) const {
  return replaced(text, all_places(text, memory_->known));
}

std::vector<std::string> Redactor::redact(std::span<const std::string> words) const {
  std::vector<SecretPlaces> places = places_in_words(words);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const SecretPlace& place : all_places(words[i], memory_->known))
      places[i].push_back(place);
    result.push_back(replaced(words[i], std::move(places[i])));
  }
  return result;
}

std::string Redactor::redact(std::string_view name, std::string_view value) const {
  return is_secret(name, value) ? std::string(kRedacted) : redact(value);
}

bool is_secret(std::string_view name, std::string_view value) {
  return is_secret_value(kind_of_name(name), name, value);
}

}  // namespace safelaunch::redact
