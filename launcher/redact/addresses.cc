#include <algorithm>

#include "characters.h"
#include "names.h"
#include "places.h"

// Each "://" begins an address, which ends at a blank, a quote or a bracket. Two readers search
// the address: for a login before the host, and for parameters with a secret's name. A request in a
// log has no scheme, so each '?' outside of an address begins parameters too. The search goes on
// behind the address, which keeps the time linear.
namespace safelaunch::redact {
namespace {

// Parameters that hold a secret in a URL, beside those whose names say so anywhere.
constexpr Words kParameters(
    "sig signature key code auth state policy ticket session sid sas hash hdnea st signed jwt pw "
    "pass nonce hmac");
bool ends_address(char c) {
  return is_space(c) || is_quote(c) || c == '<' || c == '>' || c == '\\' || c == '|';
}

std::size_t end_of_address(std::string_view text, std::size_t at) {
  while (at < text.size() && !ends_address(text[at])) ++at;
  return at;
}

// The first of these bytes between `from` and `end`. The search must stop there, or a text of many
// addresses would be slow.
std::size_t find_within(std::string_view text, std::string_view bytes, std::size_t from,
                        std::size_t end) {
  return from >= end ? end : std::min(text.substr(0, end).find_first_of(bytes, from), end);
}

// The login before the host. The last '@' ends it, since a password may hold one, and '/' too.
void find_login(std::string_view text, std::size_t begin, std::size_t end, SecretPlaces& places) {
  constexpr std::size_t kShortestAlone = 16;  // https://TOKEN@host
  const std::string_view address = text.substr(begin, end - begin);
  const std::size_t path = std::min(address.find_first_of("/?#"), address.size());
  const std::size_t colon = address.substr(0, path).find(':');
  std::size_t at = address.substr(0, path).rfind('@');
  if (at == std::string_view::npos && colon != std::string_view::npos) {
    // host:8080/a@b has no login, user:pass/word@host has one.
    const std::string_view port = address.substr(colon + 1, path - colon - 1);
    if (std::all_of(port.begin(), port.end(), is_digit)) return;
    at = address.rfind('@');
  }
  if (at == std::string_view::npos) return;
  if (colon != std::string_view::npos && colon < at) {
    if (colon + 1 < at) places.push_back({begin + colon + 1, begin + at});
    if (looks_random(address.substr(0, colon))) places.push_back({begin, begin + colon});
  } else if (at >= kShortestAlone) {
    places.push_back({begin, begin + at});
  }
}

bool is_secret_parameter(std::string_view name, std::string_view value) {
  constexpr std::size_t kShortest = 8;
  const std::string plain = lower(name.substr(0, 64));
  if (plain.starts_with("x-amz-") || plain.starts_with("x-goog-"))
    return plain.ends_with("signature") || plain.ends_with("credential") ||
           plain.ends_with("token");
  if (kParameters.has(plain) && value.size() >= kShortest) return true;
  const NameKind kind = kind_of_name(name);
  return is_secret_value(kind == NameKind::key ? NameKind::token : kind, name, value) &&
         (kind != NameKind::key || value.size() >= kShortest);
}

// ?name=value&name=value, and behind '#'.
void find_parameters(std::string_view text, std::size_t begin, std::size_t end,
                     SecretPlaces& places) {
  std::size_t at = find_within(text, "?#&;", begin, end);
  while (at < end) {
    const std::size_t next = find_within(text, "?#&;", at + 1, end);
    const std::size_t equals = find_within(text, "=", at + 1, next);
    if (equals < next) {
      const std::string_view name = text.substr(at + 1, equals - at - 1);
      const std::string_view value = text.substr(equals + 1, next - equals - 1);
      if (is_secret_parameter(name, value)) places.push_back({equals + 1, next});
    }
    at = next;
  }
}

// Without the scheme, as a log shows a request: "GET /x?sig=…".
void find_bare_parameters(std::string_view text, SecretPlaces& places) {
  for (std::size_t at = text.find('?'); at != std::string_view::npos; at = text.find('?', at + 1)) {
    const std::size_t end = end_of_address(text, at);
    find_parameters(text, at, end, places);
    at = std::max(at, end - 1);
  }
}

}  // namespace

void find_in_addresses(std::string_view text, SecretPlaces& places) {
  constexpr std::string_view kScheme = "://";
  std::size_t done = 0;
  for (std::size_t at = text.find(kScheme); at != std::string_view::npos;
       at = text.find(kScheme, std::max(at + 1, done))) {
    const std::size_t begin = at + kScheme.size();
    const std::size_t end = end_of_address(text, begin);
    find_login(text, begin, end, places);
    find_parameters(text, begin, end, places);
    done = end;
  }
  find_bare_parameters(text, places);
}

}  // namespace safelaunch::redact
