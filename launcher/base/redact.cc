#include "safelaunch/base/redact.h"

#include <algorithm>
#include <array>

namespace safelaunch {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kSecretParts{"TOKEN"sv,      "SECRET"sv,   "PASSWORD"sv,      "PASSWD"sv,
                                  "APIKEY"sv,     "API_KEY"sv,  "ACCESS_KEY"sv,    "PRIVATE_KEY"sv,
                                  "CREDENTIAL"sv, "AUTH_KEY"sv, "ENCRYPTION_KEY"sv};
// Names that hold a part above and no secret: torch's, tokenizers', ours.
constexpr std::array kPublicNames{"TOKENIZERS_PARALLELISM"sv, "MAX_TOKENS"sv, "NUM_TOKENS"sv};
constexpr std::size_t kShortestToken = 16;

std::string upper_snake(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c >= 'a' && c <= 'z')
      result += static_cast<char>(c - 'a' + 'A');
    else
      result += c == '-' ? '_' : c;
  }
  return result;
}

bool is_word_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_token_character(char c) {
  return is_word_character(c) || c == '-' || c == '.';
}

// The length of a well-known token that begins at `at`, or 0.
std::size_t token_length(std::string_view text, std::size_t at) {
  if (at > 0 && is_word_character(text[at - 1])) return 0;
  for (const std::string_view prefix : kTokenBeginnings) {
    if (text.substr(at, prefix.size()) != prefix) continue;
    std::size_t end = at + prefix.size();
    while (end < text.size() && is_token_character(text[end])) ++end;
    if (end - at >= kShortestToken) return end - at;
  }
  return 0;
}

// "scheme://user:password@host": the last '@' ends the login, since a password may hold one.
std::string without_url_passwords(std::string_view text) {
  constexpr std::string_view kScheme = "://";
  std::string result;
  while (!text.empty()) {
    const std::size_t scheme = text.find(kScheme);
    const std::size_t login =
        scheme == std::string_view::npos ? text.size() : scheme + kScheme.size();
    result += text.substr(0, login);
    text.remove_prefix(login);
    const std::string_view authority = text.substr(0, text.find_first_of("/ \t\n"));
    const std::size_t at = authority.rfind('@');
    const std::size_t colon = at == std::string_view::npos ? at : authority.substr(0, at).find(':');
    if (colon == std::string_view::npos) continue;
    result += authority.substr(0, colon + 1);
    result += kRedacted;
    text.remove_prefix(at);
  }
  return result;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::string upper = upper_snake(name);
  const auto occurs = [&](std::string_view part) { return upper.find(part) != std::string::npos; };
  if (std::any_of(kPublicNames.begin(), kPublicNames.end(), occurs)) return false;
  return std::any_of(kSecretParts.begin(), kSecretParts.end(), occurs);
}

std::string redact_text(std::string_view text) {
  const std::string safe = without_url_passwords(text);
  std::string result;
  for (std::size_t at = 0; at < safe.size();) {
    if (const std::size_t length = token_length(safe, at); length != 0) {
      result += kRedacted;
      at += length;
    } else {
      result += safe[at++];
    }
  }
  return result;
}

std::vector<std::string> redact(std::span<const std::string> words) {
  std::vector<std::string> result;
  bool value_is_secret = false;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const bool secret_option = is_secret_name(std::string_view(word).substr(0, equals));
    const bool is_option = word.starts_with("-");
    if (value_is_secret && !is_option)
      result.emplace_back(kRedacted);
    else if (equals != std::string::npos && secret_option)
      result.push_back(word.substr(0, equals + 1) + std::string(kRedacted));
    else
      result.push_back(redact_text(word));
    value_is_secret = is_option && equals == std::string::npos && secret_option;
  }
  return result;
}

}  // namespace safelaunch
