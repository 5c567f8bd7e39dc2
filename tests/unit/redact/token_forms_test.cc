#include "catch.h"
#include "launcher/redact/places.h"
#include "safelaunch/redact/redactor.h"

using namespace safelaunch::redact;

namespace {

// The letters of a token's rest, mixed so that each short piece has digits and capitals.
constexpr std::string_view kLetters = "a1B2c3D4e5F6g7H8i9J0kLmN";
constexpr std::string_view kHex = "a1b2c3d4e5f60789";
constexpr std::string_view kCapitals = "A1B2C3D4E5F6G7H8";

std::string token_rest(std::string_view letters, std::size_t size) {
  std::string rest;
  while (rest.size() < size) rest += letters[rest.size() % letters.size()];
  return rest;
}

std::size_t token_at_start(const std::string& text) {
  return token_length(text, 0);
}

struct TokenForm {
  std::string_view beginning;
  std::string_view letters;
  std::size_t shortest;  // of the rest
};

// As the services document them; the lengths are those below which a word of a program is meant.
constexpr TokenForm kTokenForms[] = {
    {"hf_", kLetters, 16},
    {"CCIPAT_", kLetters, 20},
    {"nfp_", kLetters, 30},
    {"pcsk_", kLetters, 30},
    {"squ_", kHex, 40},
    {"sl.u.", kLetters, 40},
    {"api_org_", kLetters, 16},
    {"ghp_", kLetters, 16},
    {"gho_", kLetters, 16},
    {"ghu_", kLetters, 16},
    {"ghs_", kLetters, 16},
    {"ghr_", kLetters, 16},
    {"github_pat_", kLetters, 16},
    {"glpat-", kLetters, 16},
    {"glrt-", kLetters, 16},
    {"gldt-", kLetters, 16},
    {"glcbt-", kLetters, 16},
    {"glptt-", kLetters, 16},
    {"glsoat-", kLetters, 16},
    {"gloas-", kLetters, 16},
    {"glft-", kLetters, 16},
    {"glimt-", kLetters, 16},
    {"glffct-", kLetters, 16},
    {"glagent-", kLetters, 16},
    {"GR1348941", kLetters, 16},
    {"xoxa-", kLetters, 12},
    {"xoxb-", kLetters, 12},
    {"xoxe-", kLetters, 12},
    {"xoxe.xox", kLetters, 12},
    {"xoxo-", kLetters, 12},
    {"xoxp-", kLetters, 12},
    {"xoxr-", kLetters, 12},
    {"xoxs-", kLetters, 12},
    {"xapp-", kLetters, 12},
    {"sk-", kLetters, 20},
    {"gsk_", kLetters, 20},
    {"xai-", kLetters, 20},
    {"pplx-", kLetters, 20},
    {"r8_", kLetters, 20},
    {"nvapi-", kLetters, 16},
    {"lsv2_", kLetters, 20},
    {"tgp_v1_", kLetters, 16},
    {"fw_", kLetters, 20},
    {"wandb_v1_", kLetters, 16},
    {"wandb_", kLetters, 32},
    {"rpa_", kLetters, 24},
    {"AKIA", kCapitals, 12},
    {"ASIA", kCapitals, 12},
    {"ABIA", kCapitals, 12},
    {"ACCA", kCapitals, 12},
    {"ABSK", kLetters, 60},
    {"amzn.mws.", kLetters, 20},
    {"AIza", kLetters, 20},
    {"GOCSPX-", kLetters, 16},
    {"ya29.", kLetters, 16},
    {"1//0", kLetters, 24},
    {"dapi", kHex, 30},
    {"dop_v1_", kHex, 32},
    {"doo_v1_", kHex, 32},
    {"dor_v1_", kHex, 32},
    {"LTAI", kLetters, 12},
    {"hvs.", kLetters, 20},
    {"hvb.", kLetters, 20},
    {"s.", kLetters, 24},
    {"tskey-", kLetters, 16},
    {"pul-", kHex, 40},
    {"dp.pt.", kLetters, 32},
    {"dp.st.", kLetters, 32},
    {"dckr_pat_", kLetters, 16},
    {"dckr_oat_", kLetters, 16},
    {"HRKU-", kLetters, 20},
    {"v1.0-", kLetters, 100},
    {"fo1_", kLetters, 40},
    {"fm1r_", kLetters, 60},
    {"fm1a_", kLetters, 60},
    {"fm2_", kLetters, 60},
    {"pscale_", kLetters, 32},
    {"sbp_", kHex, 32},
    {"sb_secret_", kLetters, 16},
    {"CLOJARS_", kLetters, 40},
    {"sha256~", kLetters, 40},
    {"ak-", kLetters, 20},
    {"as-", kLetters, 20},
    {"npm_", kLetters, 30},
    {"pypi-", kLetters, 30},
    {"rubygems_", kHex, 40},
    {"AKCp", kLetters, 50},
    {"cmVmd", kLetters, 50},
    {"oy2", kLetters, 40},
    {"cio", kLetters, 32},
    {"sk_live_", kLetters, 16},
    {"sk_test_", kLetters, 16},
    {"sk_prod_", kLetters, 16},
    {"rk_live_", kLetters, 16},
    {"rk_test_", kLetters, 16},
    {"whsec_", kLetters, 20},
    {"SG.", kLetters, 16},
    {"key-", kHex, 32},
    {"SK", kHex, 32},
    {"shpat_", kHex, 32},
    {"shpca_", kHex, 32},
    {"shppa_", kHex, 32},
    {"shpss_", kHex, 32},
    {"sq0atp-", kLetters, 20},
    {"sq0csp-", kLetters, 20},
    {"EAAA", kLetters, 50},
    {"EAAC", kLetters, 60},
    {"lin_api_", kLetters, 32},
    {"pat-na1-", kLetters, 32},
    {"pat-eu1-", kLetters, 32},
    {"secret_", kLetters, 32},
    {"ntn_", kLetters, 32},
    {"figd_", kLetters, 32},
    {"PMAK-", kLetters, 32},
    {"glsa_", kLetters, 32},
    {"glc_", kLetters, 32},
    {"NRAK-", kLetters, 20},
    {"sntrys_", kLetters, 32},
    {"sntryu_", kHex, 40},
    {"phc_", kLetters, 32},
    {"phx_", kLetters, 32},
    {"dt0c01.", kLetters, 40},
    {"xkeysib-", kLetters, 40},
    {"ATATT3", kLetters, 40},
    {"ATCTT3", kLetters, 40},
    {"ATBB", kLetters, 24},
    {"ops_eyJ", kLetters, 40},
    {"lop_", kLetters, 32},
    {"pnu_", kLetters, 30},
    {"rdme_", kLetters, 40},
    {"shippo_", kLetters, 32},
    {"doppler_", kLetters, 40},
    {"FLWSECK", kLetters, 16},
    {"EZAK", kLetters, 40},
    {"EZTK", kLetters, 40},
    {"bkua_", kHex, 32},
    {"AGE-SECRET-KEY-1", kLetters, 20},
    {"MDAxY2xvY2F0aW9u", kLetters, 20},
};

}  // namespace

TEST_CASE("a token of each service is one from its shortest length on", "[redact][tokens]") {
  for (const TokenForm& form : kTokenForms) {
    const std::string token = std::string(form.beginning) + token_rest(form.letters, form.shortest);
    INFO(token);
    CHECK(token_at_start(token) == token.size());
    CHECK(token_at_start(token.substr(0, token.size() - 1)) == 0);
  }
}

TEST_CASE("a token is taken to its end and no further", "[redact][tokens]") {
  for (const TokenForm& form : kTokenForms) {
    const std::string token = std::string(form.beginning) + token_rest(form.letters, 120);
    INFO(token);
    CHECK(token_at_start(token) == token.size());
    for (const char* behind : {" x", ",x", "\"", "\n", ")", "<"})
      CHECK(token_at_start(token + behind) == token.size());
  }
}

TEST_CASE("a token begins no later than its word", "[redact][tokens]") {
  for (const TokenForm& form : kTokenForms) {
    const std::string token = std::string(form.beginning) + token_rest(form.letters, 120);
    INFO(token);
    for (const char* before : {"x", "_", "7", "Z"}) CHECK(token_length(before + token, 1) == 0);
    for (const char* before : {" ", ".", "-", "/", "=", "\"", ":"})
      CHECK(token_length(before + token, 1) == token.size());
  }
}

TEST_CASE("a word of small letters with a token's beginning is none", "[redact][tokens]") {
  for (const char* word :
       {"hf_transformerlayernormalization", "sk-learnextensionsforensembles",
        "r8_quantizationofactivationtensors", "fw_compilergraphpartitionpass",
        "s.transformerlayernormalizationblock", "wandb_offlinesynchronisationofallrunsandmore",
        "npm_lifecyclescriptsofallpackagesinside", "secret_managementforeverybodyinthecluster",
        "ak-layernormalizationforever", "ghs_normalizationlayer", "doppler_effectofmovingsources"})
    CHECK(token_at_start(word) == 0);
}

TEST_CASE("a token holds only the letters of its form", "[redact][tokens]") {
  CHECK(token_at_start("hf_" + token_rest(kLetters, 20) + "-x") == 23);
  CHECK(token_at_start("ghs_" + token_rest(kLetters, 20) + ".a=~b") == 29);
  CHECK(token_at_start("glc_" + token_rest(kLetters, 40) + "+/=") == 47);
  CHECK(token_at_start("dapi" + token_rest(kHex, 30) + "xyz") == 34);
  CHECK(token_at_start("dapi" + token_rest(kHex, 29) + "xyz") == 0);
  CHECK(token_at_start("AKIA" + token_rest(kCapitals, 12) + "abc") == 16);
  CHECK(token_at_start("AKIAabcdefghijklmnop") == 0);
  CHECK(token_at_start("sk-proj-" + token_rest(kLetters, 20) + "_-x") == 31);
}

TEST_CASE("signed tokens have a head, a dot and a rest", "[redact][tokens]") {
  const std::string head = "eyJhbGciOiJIUzI1NiJ9";
  CHECK(token_at_start(head + ".eyJzdWIiOiIxIn0.abc-_") == head.size() + 22);
  CHECK(token_at_start(head + ".." + token_rest(kLetters, 20)) == head.size() + 22);
  CHECK(token_at_start(head + ".12345678") == 0);
  CHECK(token_at_start(head + ".123456789") == head.size() + 10);
  CHECK(token_at_start("eyJabcd.123456789012") == 0);
  CHECK(token_at_start("eyJabcde.123456789012") == 21);
  CHECK(token_at_start(head) == 0);
  CHECK(token_at_start("eyK" + head + ".eyJzdWIiOiIxIn0") == 0);
}

TEST_CASE("a signed token with a long head is taken whole", "[redact][tokens]") {
  const std::string token = "eyJ" + token_rest(kLetters, 2'000) + "." + token_rest(kLetters, 9'000);
  CHECK(token_at_start(token + " x") == token.size());
}

TEST_CASE("tokens that their form as a whole gives away", "[redact][tokens]") {
  const std::string telegram = "0123456789:AA" + token_rest(kLetters, 31);
  const std::string firebase = "AAAA" + token_rest(kLetters, 7) + ":" + token_rest(kLetters, 100);
  const std::string discord =
      "MTk4" + token_rest(kLetters, 20) + ".Cl2FMQ." + token_rest(kLetters, 27);
  const std::string terraform = token_rest(kLetters, 14) + ".atlasv1." + token_rest(kLetters, 40);
  const std::string airtable = "pat" + token_rest(kLetters, 14) + "." + token_rest(kHex, 60);
  const std::string azure = "abc8Q~" + token_rest(kLetters, 31);
  const std::string mailchimp = token_rest(kHex, 32) + "-us1";
  const std::string one_password = "A3-" + token_rest(kCapitals, 28);
  for (const std::string& token :
       {telegram, firebase, discord, terraform, airtable, azure, mailchimp, one_password}) {
    INFO(token);
    CHECK(token_at_start(token) == token.size());
    CHECK(token_at_start(token + "\n") == token.size());
    CHECK(token_at_start(token.substr(0, token.size() - 1)) == 0);
  }
}

TEST_CASE("what only resembles a token by its form is none", "[redact][tokens]") {
  const std::string rest = token_rest(kLetters, 100);
  for (const std::string& text : {
           "0123456:" + rest,                                  // too few digits of a bot
           "01234567890:" + rest,                              // too many
           "0123abc789:" + rest,                               // not digits alone
           "BBBB1234567:" + rest,                              // not Firebase's beginning
           "A" + rest.substr(0, 23) + ".Cl2FMQ." + rest,       // no bot of Discord
           "M" + std::string(23, 'a') + ".Cl2FMQ." + rest,     // its first part without a digit
           "MTk4" + rest.substr(0, 20) + ".Cl2F." + rest,      // its middle is too short
           "MTk4" + rest.substr(0, 20) + ".Cl2FMQab." + rest,  // too long
           "abc8R~" + rest,                                    // no secret of Azure
           "abcdQ~" + rest,
           "abcd8Q~" + rest,
           token_rest(kHex, 31) + "-us1",
           token_rest(kHex, 32) + "-eu1",
           token_rest(kHex, 32) + "-us",
           token_rest(kLetters, 32) + "-us1",
       }) {
    INFO(text);
    CHECK(token_at_start(text) == 0);
  }
}

TEST_CASE("bytes of no alphabet begin no token", "[redact][tokens]") {
  CHECK(token_at_start(std::string(100, '\xff')) == 0);
  CHECK(token_at_start(std::string(100, '\0')) == 0);
  CHECK(token_at_start("h") == 0);
  CHECK(token_at_start("eyJ") == 0);
  CHECK(token_at_start(std::string("hf_") + "\xc3\xa4" + token_rest(kLetters, 30)) == 0);
}

TEST_CASE("tokens are found at any place of a word, a path or an address", "[redact][tokens]") {
  const std::string token = "hf_" + token_rest(kLetters, 30);
  for (const auto& [before, behind] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"a.", ".b"},
           {"/home/bob/", "/x"},
           {"https://host/", "?x=1"},
           {"[", "]"},
           {"x=", ";"},
           {"\xe2\x80\x9c", "\xe2\x80\x9d"},
           {"(", ")."},
           {"line\n", "\nline"},
       })
    CHECK(Redactor().redact(before + token + behind) == before + "[redacted]" + behind);
}
