#include <algorithm>
#include <array>

#include "characters.h"
#include "places.h"

// Services begin their tokens with letters of their own, so most tokens are known by a beginning
// and by the letters and the length of the rest. Where a program's words begin in the same way, the
// token must hold a digit or a capital too. The few services without a beginning are known by the
// signs that join the parts of their tokens.
namespace safelaunch::redact {
namespace {

using std::string_view_literals::operator""sv;

// The letters of which the rest of a token consists.
enum class Body {
  letters,   // letters and digits
  word,      // and _ -
  dotted,    // and . = ~
  base64,    // letters, digits, + / = _ -
  hex,       // 0-9 a-f A-F
  capitals,  // A-Z 0-9 -
};

bool belongs(char c, Body body) {
  switch (body) {
    case Body::letters: return is_alphanumeric(c);
    case Body::word: return is_identifier(c) || c == '-';
    case Body::dotted: return is_identifier(c) || c == '-' || c == '.' || c == '=' || c == '~';
    case Body::base64: return is_base64(c) || c == '_' || c == '-';
    case Body::hex: return hexadecimal_digit(c) >= 0;
    case Body::capitals: return is_upper(c) || is_digit(c) || c == '-';
  }
  return false;
}

// Whether the token must hold a digit or a capital, or a digit. Words of programs may have its
// form, too.
enum class Mixed { no, yes, digit };

struct Form {
  std::string_view beginning;
  Body body;
  std::size_t shortest;  // the least number of letters of the rest
  Mixed mixed = Mixed::no;
};

// The beginnings are public: each vendor documents its own, so that leaks can be found by them.
constexpr std::array kForms{
    Form{"hf_", Body::letters, 16, Mixed::yes},  // Hugging Face
    Form{"api_org_", Body::letters, 16, Mixed::yes},
    Form{"ghp_", Body::letters, 16, Mixed::yes},  // GitHub
    Form{"gho_", Body::letters, 16, Mixed::yes},
    Form{"ghu_", Body::letters, 16, Mixed::yes},
    Form{"ghs_", Body::dotted, 16, Mixed::yes},
    Form{"ghr_", Body::letters, 16, Mixed::yes},
    Form{"github_pat_", Body::word, 16, Mixed::yes},
    Form{"glpat-", Body::dotted, 16},  // GitLab
    Form{"glrt-", Body::dotted, 16},
    Form{"gldt-", Body::word, 16},
    Form{"glcbt-", Body::word, 16},
    Form{"glptt-", Body::word, 16},
    Form{"glsoat-", Body::word, 16},
    Form{"gloas-", Body::word, 16},
    Form{"glft-", Body::word, 16},
    Form{"glimt-", Body::word, 16},
    Form{"glffct-", Body::word, 16},
    Form{"glagent-", Body::word, 16},
    Form{"GR1348941", Body::word, 16},
    Form{"xoxa-", Body::word, 12},  // Slack
    Form{"xoxb-", Body::word, 12},
    Form{"xoxe-", Body::word, 12},
    Form{"xoxe.xox", Body::word, 12},
    Form{"xoxo-", Body::word, 12},
    Form{"xoxp-", Body::word, 12},
    Form{"xoxr-", Body::word, 12},
    Form{"xoxs-", Body::word, 12},
    Form{"xapp-", Body::word, 12},
    Form{"sk-", Body::word, 20, Mixed::yes},  // OpenAI, Anthropic, OpenRouter
    Form{"gsk_", Body::letters, 20, Mixed::yes},
    Form{"xai-", Body::letters, 20, Mixed::yes},
    Form{"pplx-", Body::letters, 20, Mixed::yes},
    Form{"r8_", Body::letters, 20, Mixed::yes},
    Form{"nvapi-", Body::word, 16},
    Form{"lsv2_", Body::word, 20, Mixed::yes},
    Form{"tgp_v1_", Body::word, 16},
    Form{"fw_", Body::letters, 20, Mixed::yes},
    Form{"wandb_v1_", Body::word, 16},
    Form{"wandb_", Body::letters, 32, Mixed::yes},
    Form{"rpa_", Body::letters, 24, Mixed::yes},
    Form{"AKIA", Body::capitals, 12},  // AWS
    Form{"ASIA", Body::capitals, 12},
    Form{"ABIA", Body::capitals, 12},
    Form{"ACCA", Body::capitals, 12},
    Form{"ABSK", Body::base64, 60},
    Form{"amzn.mws.", Body::word, 20},
    Form{"AIza", Body::word, 20},  // Google
    Form{"GOCSPX-", Body::word, 16},
    Form{"ya29.", Body::dotted, 16},
    Form{"1//0", Body::word, 24},
    Form{"dapi", Body::hex, 30},  // Databricks
    Form{"dop_v1_", Body::hex, 32},
    Form{"doo_v1_", Body::hex, 32},
    Form{"dor_v1_", Body::hex, 32},
    Form{"LTAI", Body::letters, 12, Mixed::yes},
    Form{"hvs.", Body::word, 20},  // Vault
    Form{"hvb.", Body::word, 20},
    Form{"s.", Body::letters, 24, Mixed::digit},
    Form{"tskey-", Body::word, 16, Mixed::yes},
    Form{"pul-", Body::hex, 40},
    Form{"dp.pt.", Body::letters, 32},
    Form{"dp.st.", Body::dotted, 32},
    Form{"dckr_pat_", Body::word, 16},
    Form{"dckr_oat_", Body::word, 16},
    Form{"HRKU-", Body::word, 20},
    Form{"v1.0-", Body::word, 100},
    Form{"fo1_", Body::word, 40},
    Form{"fm1r_", Body::base64, 60},
    Form{"fm1a_", Body::base64, 60},
    Form{"fm2_", Body::base64, 60},
    Form{"pscale_", Body::dotted, 32, Mixed::yes},
    Form{"sbp_", Body::hex, 32},
    Form{"sb_secret_", Body::word, 16},
    Form{"CLOJARS_", Body::letters, 40},
    Form{"sha256~", Body::word, 40},
    Form{"ak-", Body::letters, 20, Mixed::yes},  // Modal
    Form{"as-", Body::letters, 20, Mixed::yes},
    Form{"npm_", Body::letters, 30, Mixed::yes},  // registries
    Form{"pypi-", Body::word, 30},
    Form{"rubygems_", Body::hex, 40},
    Form{"AKCp", Body::letters, 50},
    Form{"cmVmd", Body::letters, 50},
    Form{"oy2", Body::letters, 40},
    Form{"cio", Body::letters, 32, Mixed::yes},
    Form{"sk_live_", Body::letters, 16},  // services
    Form{"sk_test_", Body::letters, 16},
    Form{"sk_prod_", Body::letters, 16},
    Form{"rk_live_", Body::letters, 16},
    Form{"rk_test_", Body::letters, 16},
    Form{"whsec_", Body::base64, 20},
    Form{"SG.", Body::dotted, 16, Mixed::yes},
    Form{"key-", Body::hex, 32},
    Form{"SK", Body::hex, 32},
    Form{"shpat_", Body::hex, 32},
    Form{"shpca_", Body::hex, 32},
    Form{"shppa_", Body::hex, 32},
    Form{"shpss_", Body::hex, 32},
    Form{"sq0atp-", Body::word, 20},
    Form{"sq0csp-", Body::word, 20},
    Form{"EAAA", Body::word, 50},
    Form{"EAAC", Body::letters, 60},
    Form{"lin_api_", Body::letters, 32},
    Form{"pat-na1-", Body::word, 32},  // HubSpot
    Form{"pat-eu1-", Body::word, 32},
    Form{"secret_", Body::letters, 32, Mixed::yes},  // Notion
    Form{"ntn_", Body::letters, 32},
    Form{"figd_", Body::word, 32},
    Form{"PMAK-", Body::word, 32},
    Form{"glsa_", Body::word, 32},
    Form{"glc_", Body::base64, 32},
    Form{"NRAK-", Body::letters, 20},
    Form{"sntrys_", Body::base64, 32},
    Form{"sntryu_", Body::hex, 40},
    Form{"phc_", Body::letters, 32},
    Form{"phx_", Body::letters, 32},
    Form{"dt0c01.", Body::dotted, 40},
    Form{"xkeysib-", Body::word, 40},
    Form{"ATATT3", Body::dotted, 40},
    Form{"ATCTT3", Body::dotted, 40},
    Form{"ATBB", Body::letters, 24, Mixed::yes},
    Form{"ops_eyJ", Body::base64, 40},
    Form{"lop_", Body::letters, 32, Mixed::yes},
    Form{"pnu_", Body::letters, 30, Mixed::yes},
    Form{"rdme_", Body::letters, 40},
    Form{"shippo_", Body::word, 32, Mixed::yes},
    Form{"doppler_", Body::word, 40, Mixed::yes},
    Form{"FLWSECK", Body::word, 16},
    Form{"EZAK", Body::letters, 40},
    Form{"EZTK", Body::letters, 40},
    Form{"bkua_", Body::hex, 32},
    Form{"CCIPAT_", Body::word, 20},  // CircleCI
    Form{"CCIPRJ_", Body::word, 20},
    Form{"nfp_", Body::letters, 30, Mixed::yes},  // Netlify
    Form{"pcsk_", Body::word, 30, Mixed::yes},    // Pinecone
    Form{"squ_", Body::hex, 40},                  // SonarQube
    Form{"sqp_", Body::hex, 40},
    Form{"sqa_", Body::hex, 40},
    Form{"sl.u.", Body::word, 40},  // Dropbox
    Form{"sl.B", Body::word, 60},
    Form{"AGE-SECRET-KEY-1", Body::letters, 20},  // keys of encryption
    Form{"MDAxY2xvY2F0aW9u", Body::base64, 20},   // a macaroon
};

std::size_t run_length(std::string_view text, Body body) {
  std::size_t end = 0;
  while (end < text.size() && belongs(text[end], body)) ++end;
  return end;
}

bool has_digit_or_capital(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return is_digit(c) || is_upper(c); });
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit);
}

// A token is known by its first bytes. A text that is no token is read again from its next word on,
// so only a limited number of bytes may decide.
constexpr std::size_t kDecisive = 256;
constexpr std::size_t kLongestHead = 2'048;

std::size_t matched(std::string_view text, const Form& form) {
  if (!text.starts_with(form.beginning)) return 0;
  const std::string_view rest = text.substr(form.beginning.size());
  const std::size_t length = run_length(rest.substr(0, kDecisive), form.body);
  if (length < form.shortest) return 0;
  const std::string_view body = rest.substr(0, length);
  if (form.mixed == Mixed::yes && !has_digit_or_capital(body)) return 0;
  if (form.mixed == Mixed::digit && !has_digit(body)) return 0;
  return form.beginning.size() + run_length(rest, form.body);
}

// The forms by their first byte.
const std::array<std::vector<const Form*>, 128>& forms_by_first() {
  static const auto table = [] {
    std::array<std::vector<const Form*>, 128> result;
    for (const Form& form : kForms)
      result[static_cast<unsigned char>(form.beginning[0])].push_back(&form);
    return result;
  }();
  return table;
}

// Parts of letters, digits, - and _ that dots join: 3 is a signed token, 5 an encrypted one.
std::size_t signed_token_length(std::string_view text) {
  if (!text.starts_with("eyJ")) return 0;
  const std::string_view head = text.substr(0, kLongestHead);
  const std::size_t dot = head.substr(0, run_length(head, Body::dotted)).find('.');
  if (dot == std::string_view::npos || dot < 8) return 0;
  const std::size_t length = dot + run_length(text.substr(dot), Body::dotted);
  return length - dot >= 10 ? length : 0;
}

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_digit);
}

// The length of a token whose head of `head` bytes a sign follows, and then its tail.
std::size_t length_with_tail(std::string_view text, std::size_t head, Body body,
                             std::size_t shortest) {
  const std::size_t length = run_length(text.substr(head), body);
  return length < shortest ? 0 : head + length;
}

// 0123456789:AAxxxx of a Telegram bot, and what Firebase's AAAAxxxxxxx:yyyy has alike.
std::size_t bot_token_length(std::string_view text, std::size_t word) {
  if (word >= 8 && word <= 10 && all_digits(text.substr(0, word)))
    return length_with_tail(text, word + 1, Body::word, 33);
  if (word == 11 && text.starts_with("AAAA"))
    return length_with_tail(text, word + 1, Body::word, 100);
  return 0;
}

// MTk4….abc123.xyz of a Discord bot; TERRAFORM.atlasv1.…; patXXXXXXXXXXXXXX.hex of Airtable.
std::size_t joined_token_length(std::string_view text, std::size_t word) {
  const std::string_view rest = text.substr(word + 1);
  if (word == 14 && rest.starts_with("atlasv1."))
    return length_with_tail(text, word + 9, Body::dotted, 40);
  if (word == 17 && text.starts_with("pat")) return length_with_tail(text, word + 1, Body::hex, 60);
  const bool bot = text[0] == 'M' || text[0] == 'N' || text[0] == 'O';
  if (!bot || word < 23 || word > 28 || !has_digit(text.substr(0, word))) return 0;
  const std::size_t middle = run_length(rest.substr(0, 8), Body::word);
  if (middle < 6 || middle > 7 || rest.substr(middle, 1) != ".") return 0;
  return length_with_tail(text, word + middle + 2, Body::word, 27);
}

// The secret of an Azure application: three bytes, 7Q~ or 8Q~, 31 to 34 more.
std::size_t azure_secret_length(std::string_view text, std::size_t word) {
  if (word != 5 || text[4] != 'Q' || !is_digit(text[3])) return 0;
  return length_with_tail(text, 6, Body::dotted, 31);
}

// hex-us12 of Mailchimp; A3-XXXXXX-XXXXXX-XXXXX-XXXXX-XXXXX of 1Password.
std::size_t dashed_token_length(std::string_view text, std::size_t word) {
  if (text.starts_with("A3-")) return length_with_tail(text, 3, Body::capitals, 28);
  if (word != 32 || run_length(text.substr(0, word), Body::hex) != word) return 0;
  return text.substr(word + 1).starts_with("us")
             ? length_with_tail(text, word + 3, Body::letters, 1)
             : 0;
}

// The length of a token that its form as a whole gives away, by the sign behind the first word.
std::size_t structured_length(std::string_view text) {
  constexpr std::size_t kLongestWord = 40;
  const std::size_t word = run_length(text.substr(0, kLongestWord), Body::letters);
  if (text.size() < word + 2) return 0;
  switch (text[word]) {
    case ':': return bot_token_length(text, word);
    case '.': return joined_token_length(text, word);
    case '~': return azure_secret_length(text, word);
    case '-': return dashed_token_length(text, word);
    default: return 0;
  }
}

}  // namespace

std::size_t token_length(std::string_view text, std::size_t at) {
  if (at > 0 && is_identifier(text[at - 1])) return 0;
  const std::string_view rest = text.substr(at);
  const auto first = static_cast<unsigned char>(rest[0]);
  if (first < 128)
    for (const Form* form : forms_by_first()[first])
      if (const std::size_t length = matched(rest, *form); length != 0) return length;
  if (const std::size_t length = signed_token_length(rest); length != 0) return length;
  return structured_length(rest);
}

}  // namespace safelaunch::redact
