#include <algorithm>
#include <array>

#include "characters.h"
#include "pattern.h"
#include "places.h"

// Services begin their tokens with letters of their own, so most tokens are known by a beginning
// and by the letters and the length of the rest. Where a program's words begin in the same way, the
// token must hold a digit or a capital too. The few services without a beginning are known by the
// signs that join the parts of their tokens.
namespace safelaunch::redact {
namespace {

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
  std::string_view beginnings;  // with blanks between them
  Body body;
  std::size_t shortest;  // the least number of letters of the rest
  Mixed mixed = Mixed::no;
};

// The beginnings are public: each vendor documents its own, so that leaks can be found by them.
constexpr std::array kForms{
    Form{"hf_ api_org_ ghp_ gho_ ghu_ ghr_", Body::letters, 16, Mixed::yes},
    Form{"sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_", Body::letters, 16},
    Form{"gsk_ xai- pplx- r8_ fw_ ak- as-", Body::letters, 20, Mixed::yes},
    Form{"NRAK- AGE-SECRET-KEY-1", Body::letters, 20},
    Form{"LTAI", Body::letters, 12, Mixed::yes},
    Form{"rpa_ ATBB", Body::letters, 24, Mixed::yes},
    Form{"s.", Body::letters, 24, Mixed::digit},  // Vault
    Form{"npm_ nfp_ pnu_", Body::letters, 30, Mixed::yes},
    Form{"wandb_ cio secret_ lop_", Body::letters, 32, Mixed::yes},
    Form{"dp.pt. lin_api_ ntn_ phc_ phx_", Body::letters, 32},
    Form{"CLOJARS_ oy2 rdme_ EZAK EZTK", Body::letters, 40},
    Form{"AKCp cmVmd", Body::letters, 50},
    Form{"EAAC", Body::letters, 60},
    Form{"AKIA ASIA ABIA ACCA", Body::capitals, 12},  // AWS
    Form{"dapi", Body::hex, 30},                      // Databricks
    Form{"dop_v1_ doo_v1_ dor_v1_ sbp_ key- SK shpat_ shpca_ shppa_ shpss_ bkua_", Body::hex, 32},
    Form{"pul- rubygems_ sntryu_ squ_ sqp_ sqa_", Body::hex, 40},
    Form{"whsec_ MDAxY2xvY2F0aW9u", Body::base64, 20},
    Form{"glc_ sntrys_", Body::base64, 32},
    Form{"ops_eyJ", Body::base64, 40},
    Form{"ABSK fm1r_ fm1a_ fm2_", Body::base64, 60},
    Form{"xoxa- xoxb- xoxe- xoxe.xox xoxo- xoxp- xoxr- xoxs- xapp-", Body::word, 12},  // Slack
    Form{"gldt- glcbt- glptt- glsoat- gloas- glft- glimt- glffct- glagent- GR1348941", Body::word,
         16},
    Form{"nvapi- tgp_v1_ wandb_v1_ GOCSPX- dckr_pat_ dckr_oat_ sb_secret_ FLWSECK", Body::word, 16},
    Form{"github_pat_ tskey-", Body::word, 16, Mixed::yes},
    Form{"sk- lsv2_", Body::word, 20, Mixed::yes},  // OpenAI, Anthropic, OpenRouter
    Form{"amzn.mws. AIza hvs. hvb. HRKU- sq0atp- sq0csp- CCIPAT_ CCIPRJ_", Body::word, 20},
    Form{"1//0", Body::word, 24},  // Google
    Form{"pcsk_", Body::word, 30, Mixed::yes},
    Form{"pypi-", Body::word, 30},
    Form{"shippo_", Body::word, 32, Mixed::yes},
    Form{"pat-na1- pat-eu1- figd_ PMAK- glsa_", Body::word, 32},
    Form{"doppler_", Body::word, 40, Mixed::yes},
    Form{"fo1_ sha256~ xkeysib- sl.u.", Body::word, 40},
    Form{"EAAA", Body::word, 50},
    Form{"sl.B", Body::word, 60},
    Form{"v1.0-", Body::word, 100},
    Form{"ghs_ SG.", Body::dotted, 16, Mixed::yes},
    Form{"glpat- glrt- ya29.", Body::dotted, 16},
    Form{"pscale_", Body::dotted, 32, Mixed::yes},
    Form{"dp.st.", Body::dotted, 32},
    Form{"dt0c01. ATATT3 ATCTT3", Body::dotted, 40},
};

std::size_t run_length(std::string_view text, Body body) {
  std::size_t end = 0;
  while (end < text.size() && belongs(text[end], body)) ++end;
  return end;
}

struct Beginning {
  std::string_view letters;
  const Form* form;
};

// The beginnings by their first byte.
const std::array<std::vector<Beginning>, 128>& beginnings() {
  static const auto table = [] {
    std::array<std::vector<Beginning>, 128> result;
    for (const Form& form : kForms)
      for (std::string_view rest = form.beginnings; !rest.empty();) {
        const std::string_view letters = take_word(rest);
        result[static_cast<unsigned char>(letters[0])].push_back({letters, &form});
      }
    return result;
  }();
  return table;
}

// A token is known by its first bytes. A text that is no token is read again from its next word on,
// so only a limited number of bytes may decide.
constexpr std::size_t kDecisive = 256;
constexpr std::size_t kLongestHead = 2'048;

std::size_t matched(std::string_view text, const Beginning& beginning) {
  if (!text.starts_with(beginning.letters)) return 0;
  const Form& form = *beginning.form;
  const std::string_view rest = text.substr(beginning.letters.size());
  const std::string_view body = rest.substr(0, run_length(rest.substr(0, kDecisive), form.body));
  if (body.size() < form.shortest) return 0;
  const auto has = [&](auto is) { return std::any_of(body.begin(), body.end(), is); };
  const bool told = has(is_digit) || (form.mixed == Mixed::yes && has(is_upper));
  return form.mixed == Mixed::no || told ? beginning.letters.size() + run_length(rest, form.body)
                                         : 0;
}

// The length of a token that its form as a whole gives away: a signed one, or a bot's of Telegram
// and of Firebase, of Terraform, Airtable, Discord, Azure, Mailchimp and 1Password.
std::size_t structured_length(std::string_view text) {
  constexpr std::size_t kShortest = 31;
  static const Pattern kStructured(
      R"(eyJ[\w~=-]{5,}\.[\w.~=-]{9,})"
      R"(|\d{8,10}:[\w-]{33,}|AAAA[0-9A-Za-z]{7}:[\w-]{100,})"
      R"(|[0-9A-Za-z]{14}\.atlasv1\.[\w.~=-]{40,}|pat[0-9A-Za-z]{14}\.[[:xdigit:]]{60,})"
      R"(|[MNO](?:[A-Za-z]{0,9}\d[0-9A-Za-z]{12,25}|[A-Za-z]{10,20}\d[0-9A-Za-z]{2,14})\.)"
      R"([\w-]{6,7}\.[\w-]{27,}|[0-9A-Za-z]{3}\dQ~[\w.~=-]{31,})"
      R"(|[[:xdigit:]]{32}-us[0-9A-Za-z]+|A3-[A-Z0-9-]{28,})");
  const auto joins = [](char c) { return belongs(c, Body::dotted) || c == ':'; };
  const std::string_view first = text.substr(0, kShortest);
  if (!text.starts_with("eyJ") &&
      (first.size() < kShortest || !std::all_of(first.rbegin(), first.rend(), joins)))
    return 0;
  const std::string_view head = text.substr(0, kLongestHead);
  const std::size_t length = kStructured.length_in(head);
  return length < kLongestHead ? length : length + run_length(text.substr(length), Body::dotted);
}

}  // namespace

std::size_t token_length(std::string_view text, std::size_t at) {
  if (at > 0 && is_identifier(text[at - 1])) return 0;
  const std::string_view rest = text.substr(at);
  const auto first = static_cast<unsigned char>(rest[0]);
  if (first < 128)
    for (const Beginning& beginning : beginnings()[first])
      if (const std::size_t length = matched(rest, beginning); length != 0) return length;
  return structured_length(rest);
}

}  // namespace safelaunch::redact
