#include "known_secrets.h"

#include <algorithm>
#include <cstring>

#include "characters.h"

namespace safelaunch::redact {
namespace {

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
std::string in_base64(std::string_view value, std::size_t offset, std::string_view last_two) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const auto bit = [&](std::size_t at) -> unsigned {
    if (at < offset * 8) return 0;
    const auto byte = static_cast<unsigned char>(value[at / 8 - offset]);
    return (byte >> (7 - at % 8)) & 1U;
  };
  const std::size_t first = offset == 0 ? 0 : offset + 1;
  const std::size_t end = (offset + value.size()) * 8 / 6;
  std::string text;
  for (std::size_t digit = first; digit < end; ++digit) {
    unsigned number = 0;
    for (std::size_t i = 0; i < 6; ++i) number = number * 2 + bit(digit * 6 + i);
    text += number < 62 ? kDigits[number] : last_two[number - 62];
  }
  return text;
}

}  // namespace

void KnownSecrets::add(std::string_view value) {
  std::size_t begin = 0;
  while (begin < value.size()) {
    const std::size_t end = std::min(value.find('\n', begin), value.size());
    add_text(value.substr(begin, end - begin));
    begin = end + 1;
  }
  constexpr std::size_t kShortestInside = 8;
  if (value.size() < kShortestInside) return;
  for (std::size_t offset = 0; offset < 3; ++offset) {
    const std::string plain = in_base64(value, offset, "+/");
    const std::string for_urls = in_base64(value, offset, "-_");
    add_text(plain);
    if (for_urls != plain) add_text(for_urls);
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

// Of two values that match the longer one counts, or its rest would stay.
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

}  // namespace safelaunch::redact
