#include <algorithm>

#include "characters.h"
#include "pattern.h"
#include "places.h"

// A private key stands between BEGIN and END. A log may have lost either marker; then the key
// reaches as far as the lines look like base64. Lines that only may belong to it, headers and empty
// ones, count where base64 follows them: below a lone marker stand the lines that tell why the key
// was not read.
namespace safelaunch::redact {
namespace {

constexpr std::size_t kLongestKey = 64U << 10;

// A line of a key is base64 alone, whatever a log has put in front of it. The last may be short.
const std::string kKeyLine = R"((?:[^\n]*[ \t])?[0-9A-Za-z+/="'`\\,]{16,}[ \t\r]*)";
const std::string kLastLine = "[0-9A-Za-z+/=]{4,}";

// The end of the lines of a key whose end is missing: headers, then base64 as far as it goes. A
// line that looks like a header and has no base64 below it belongs to the log.
std::size_t end_of_torn_key(std::string_view text, std::size_t at) {
  static const Pattern kKey("(?m)[^\\n]*(?:(?:\\n(?:[^\\n]*: [^\\n]*)?$){0,20}(?:\\n" + kKeyLine +
                            "$)+(?:\\n" + kLastLine + "$)?)?");
  return at + kKey.length_in(text.substr(at));
}

// The begin of the lines of a key whose first lines are missing.
std::size_t begin_of_torn_key(std::string_view text, std::size_t at) {
  static const Pattern kKey("(?m)(?:(?:^" + kKeyLine + "\\n)*^" + kLastLine + "\\n|(?:^" +
                            kKeyLine + "\\n)+[^\\n]*|^" + kKeyLine + ")\\z");
  return at - kKey.length_at_end(text.substr(0, at));
}

// The kind of the marker that ends in "PRIVATE KEY" at `key`.
enum class Marker { none, begin, end };

Marker marker_at(std::string_view text, std::size_t key, std::size_t& first) {
  constexpr std::size_t kLongestKind = 60;  // "OPENSSH ", "ENCRYPTED "
  const std::size_t from = key > kLongestKind ? key - kLongestKind : 0;
  std::string_view lead = text.substr(from, key - from);
  if (const std::size_t line = lead.rfind('\n'); line != std::string_view::npos)
    lead.remove_prefix(line + 1);
  const std::size_t dashes = lead.rfind("-----");
  if (dashes == std::string_view::npos) return Marker::none;
  first = key - lead.size() + dashes;
  while (first > 0 && text[first - 1] == '-') --first;
  const std::string_view word = lead.substr(dashes + 5);
  if (word.starts_with("BEGIN ")) return Marker::begin;
  return word.starts_with("END ") ? Marker::end : Marker::none;
}

}  // namespace

void find_keys(std::string_view text, SecretPlaces& places) {
  constexpr std::string_view kKey = "PRIVATE KEY";
  std::size_t done = 0;
  bool open = false;      // the last marker was a begin
  std::size_t begin = 0;  // where the key behind that marker stands
  for (std::size_t key = text.find(kKey); key != std::string_view::npos;
       key = text.find(kKey, key + kKey.size())) {
    std::size_t first = key;
    const Marker marker = marker_at(text, key, first);
    if (marker == Marker::none) continue;
    if (marker == Marker::end && open && key - begin <= kLongestKey)
      places.push_back({begin, first});
    else if (open)
      places.push_back({begin, end_of_torn_key(text, begin)});
    if (marker == Marker::end && !open && first > done) {
      const std::size_t torn = done + begin_of_torn_key(text.substr(done), first - done);
      if (torn < first) places.push_back({torn, first});
    }
    open = marker == Marker::begin;
    begin = done = key + kKey.size();
  }
  if (open) places.push_back({begin, end_of_torn_key(text, begin)});
}

}  // namespace safelaunch::redact
