#include <algorithm>

#include "characters.h"
#include "places.h"

#include "safelaunch/base/strings.h"
#include "safelaunch/redact/redactor.h"

// A block is known by a marker: BEGIN and END of a key, PuTTY's and Ansible's heads. A log may have
// lost either marker of a key; then the key reaches as far as the lines look like base64. Lines
// that only may belong to it, headers and empty ones, count where base64 follows them: below a lone
// marker stand the lines that tell why the key was not read.
namespace safelaunch::redact {
namespace {

constexpr std::size_t kLongestKey = 64U << 10;

std::size_t begin_of_line(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return before == std::string_view::npos ? 0 : before + 1;
}

std::string_view last_word(std::string_view line) {
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  const std::size_t space = line.find_last_of(" \t");
  return space == std::string_view::npos ? line : line.substr(space + 1);
}

// A line of a key: base64 alone, whatever a log has put in front of it.
bool is_key_line(std::string_view line) {
  constexpr std::size_t kShortest = 16;
  const std::string_view word = last_word(line);
  return word.size() >= kShortest && std::all_of(word.begin(), word.end(), [](char c) {
           return is_base64(c) || is_quote(c) || c == '\\' || c == ',';
         });
}

bool is_header_of_key(std::string_view line) {
  return line.find(": ") != std::string_view::npos && line.size() < 100;
}

// The end of the lines of a key whose end is missing: headers, then base64 as far as it goes. A
// line that looks like a header and has no base64 below it belongs to the log.
std::size_t end_of_torn_key(std::string_view text, std::size_t at) {
  const std::size_t first = end_of_line(text, at);
  std::size_t end = first;  // the end of the lines that have been read
  std::size_t key = first;  // the end of those lines that belong to the key
  while (end < text.size()) {
    const std::size_t next = end_of_line(text, end + 1);
    const std::string_view line = text.substr(end + 1, next - end - 1);
    const bool in_body = key != first;
    const bool body = is_key_line(line);
    const bool head = !in_body && (line.empty() || is_header_of_key(line));
    const bool tail =
        in_body && last_word(line).size() >= 4 && std::all_of(line.begin(), line.end(), is_base64);
    if (!body && !head && !tail) break;
    if (!head) key = next;
    end = next;
    if (tail && !body) break;
  }
  return key;
}

// The begin of the lines of a key whose first lines are missing.
std::size_t begin_of_torn_key(std::string_view text, std::size_t at) {
  std::size_t begin = begin_of_line(text, at);
  const std::string_view same_line = text.substr(begin, at - begin);
  const std::size_t nothing = is_key_line(same_line) ? begin : at;
  std::size_t result = nothing;
  while (begin > 0) {
    const std::size_t previous = begin_of_line(text, begin - 1);
    const std::string_view line = text.substr(previous, begin - 1 - previous);
    if (!is_key_line(line) && !(result == nothing && line.size() >= 4 &&
                                std::all_of(line.begin(), line.end(), is_base64)))
      break;
    result = begin = previous;
  }
  return result;
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

void find_pem(std::string_view text, SecretPlaces& places) {
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

void find_putty(std::string_view text, SecretPlaces& places) {
  constexpr std::string_view kLines = "Private-Lines: ";
  for (std::size_t at = text.find(kLines); at != std::string_view::npos;
       at = text.find(kLines, at + 1)) {
    const std::size_t begin = end_of_line(text, at);
    const std::size_t number = at + kLines.size();
    const auto lines = number_in<std::size_t>(text.substr(number, begin - number));
    const bool taken = text.substr(std::min(begin + 1, text.size())).starts_with(kRedacted);
    std::size_t end = begin;
    for (std::size_t i = 0; !taken && i < std::min<std::size_t>(lines, 200) && end < text.size();
         ++i)
      end = end_of_line(text, end + 1);
    if (begin < end) places.push_back({begin + 1, end});
    at = std::max(at, end == 0 ? 0 : end - 1);
  }
}

// The digits below $ANSIBLE_VAULT.
void find_vaults(std::string_view text, SecretPlaces& places) {
  constexpr std::string_view kVault = "$ANSIBLE_VAULT;";
  for (std::size_t at = text.find(kVault); at != std::string_view::npos;
       at = text.find(kVault, at + 1)) {
    const std::size_t begin = end_of_line(text, at);
    const std::size_t end = end_of_torn_key(text, begin);
    if (begin < end) places.push_back({begin + 1, end});
    at = std::max(at, end == 0 ? 0 : end - 1);
  }
}

}  // namespace

void find_in_blocks(std::string_view text, SecretPlaces& places) {
  find_pem(text, places);
  find_putty(text, places);
  find_vaults(text, places);
}

}  // namespace safelaunch::redact
