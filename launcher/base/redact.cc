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
constexpr std::array kTokenPrefixes{"hf_"sv,  "sk-"sv,         "AKIA"sv,   "ASIA"sv,  "ghp_"sv,
                                    "gho_"sv, "github_pat_"sv, "glpat-"sv, "xoxb-"sv, "wandb_"sv};
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

bool is_token_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-';
}

// The length of a well-known token that begins at `at`, or 0.
std::size_t token_length(std::string_view text, std::size_t at) {
  if (at > 0 && is_token_character(text[at - 1])) return 0;
  for (const std::string_view prefix : kTokenPrefixes) {
    if (text.substr(at, prefix.size()) != prefix) continue;
    std::size_t end = at + prefix.size();
    while (end < text.size() && is_token_character(text[end])) ++end;
    if (end - at >= kShortestToken) return end - at;
  }
  return 0;
}

// "scheme://user:password@host": the place of the password that ends at the '@' at `at`.
std::size_t password_start(std::string_view text, std::size_t at) {
  const std::size_t scheme = text.rfind("://", at);
  if (scheme == std::string_view::npos) return std::string_view::npos;
  const std::size_t authority = scheme + 3;
  const std::string_view login = text.substr(authority, at - authority);
  if (login.find_first_of("/ \t\n") != std::string_view::npos) return std::string_view::npos;
  const std::size_t colon = login.find(':');
  return colon == std::string_view::npos ? std::string_view::npos : authority + colon + 1;
}

std::string without_url_passwords(std::string_view text) {
  std::string result(text);
  for (std::size_t at = result.find('@'); at != std::string::npos; at = result.find('@', at + 1)) {
    const std::size_t start = password_start(result, at);
    if (start == std::string_view::npos) continue;
    result.replace(start, at - start, kRedacted);
    at = start + kRedacted.size();
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
