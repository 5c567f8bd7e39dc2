#include <algorithm>
#include <array>

#include "characters.h"
#include "names.h"
#include "places.h"

// A script may call a password by its name in another language. Such a name is found as it is
// written, without parts, and its value reaches from a sign behind it to the next blank or sign.
namespace safelaunch::redact {
namespace {

using std::string_view_literals::operator""sv;

// Password, passphrase, key, token, private key, credential, verification code.
constexpr std::array kNamesElsewhere{
    "密码"sv,     "密碼"sv,   "口令"sv,   "密钥"sv,       "密鑰"sv,       "令牌"sv,
    "私钥"sv,     "私鑰"sv,   "凭证"sv,   "验证码"sv,     "パスワード"sv, "暗証番号"sv,
    "비밀번호"sv, "пароль"sv, "Пароль"sv, "contraseña"sv, "Contraseña"sv};
constexpr std::array kSignsElsewhere{":"sv, "="sv, "："sv, "＝"sv, "是"sv, "为"sv, "は"sv};
constexpr std::array kEndsOfValue{"，"sv, "。"sv, "；"sv, "、"sv, "）"sv, "”"sv, "」"sv, "！"sv};

bool is_beyond_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

template <std::size_t N>
std::size_t length_of_one(const std::array<std::string_view, N>& words, std::string_view text) {
  const auto found =
      std::ranges::find_if(words, [&](std::string_view word) { return text.starts_with(word); });
  return found == words.end() ? 0 : found->size();
}

void skip(std::string_view text, std::size_t& at, bool (*what)(char)) {
  while (at < text.size() && what(text[at])) ++at;
}

bool is_blank_or_quote(char c) {
  return is_blank(c) || is_quote(c);
}

bool ends_value(std::string_view rest) {
  const char c = rest.front();
  return is_space(c) || is_quote(c) || c == ',' || c == ';' || c == ')' || c == '}' ||
         length_of_one(kEndsOfValue, rest) > 0;
}

// The end of what was read.
std::size_t find_value(std::string_view text, std::size_t at, SecretPlaces& places) {
  skip(text, at, is_blank_or_quote);
  const std::size_t sign = length_of_one(kSignsElsewhere, text.substr(at));
  if (sign == 0) return at;
  at += sign;
  skip(text, at, is_blank_or_quote);
  const std::size_t begin = at;
  while (at < text.size() && !ends_value(text.substr(at))) ++at;
  const std::string_view value = text.substr(begin, at - begin);
  const bool is_text = std::ranges::any_of(value, is_beyond_ascii);
  if (!is_text && is_secret_value(NameKind::secret, {}, value)) places.push_back({begin, at});
  return at;
}

}  // namespace

void find_by_other_languages(std::string_view text, SecretPlaces& places) {
  if (std::ranges::none_of(text, is_beyond_ascii)) return;
  for (const std::string_view name : kNamesElsewhere)
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at))
      at = find_value(text, at + name.size(), places);
}

}  // namespace safelaunch::redact
