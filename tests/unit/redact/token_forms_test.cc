#include <functional>

#include "catch.h"
#include "launcher/redact/places.h"
#include "safelaunch/base/strings.h"
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
  std::string_view beginnings;  // with blanks between them
  std::string_view letters;
  std::size_t shortest;  // of the rest
};

// As the services document them; the lengths are those below which a word of a program is meant.
constexpr TokenForm kTokenForms[] = {
    {"xoxa- xoxb- xoxe- xoxe.xox xoxo- xoxp- xoxr- xoxs- xapp- LTAI", kLetters, 12},
    {"hf_ api_org_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glrt- gldt- glcbt- "
     "glptt- glsoat- gloas- glft- glimt- glffct- glagent- GR1348941 nvapi- tgp_v1_ "
     "wandb_v1_ GOCSPX- ya29. tskey- dckr_pat_ dckr_oat_ sb_secret_ sk_live_ sk_test_ "
     "sk_prod_ rk_live_ rk_test_ SG. FLWSECK",
     kLetters, 16},
    {"CCIPAT_ sk- gsk_ xai- pplx- r8_ lsv2_ fw_ amzn.mws. AIza hvs. hvb. HRKU- ak- as- "
     "whsec_ sq0atp- sq0csp- NRAK- AGE-SECRET-KEY-1 MDAxY2xvY2F0aW9u",
     kLetters, 20},
    {"rpa_ 1//0 s. ATBB", kLetters, 24},
    {"nfp_ pcsk_ npm_ pypi- pnu_", kLetters, 30},
    {"wandb_ dp.pt. dp.st. pscale_ cio lin_api_ pat-na1- pat-eu1- secret_ ntn_ figd_ "
     "PMAK- glsa_ glc_ sntrys_ phc_ phx_ lop_ shippo_",
     kLetters, 32},
    {"sl.u. fo1_ CLOJARS_ sha256~ oy2 dt0c01. xkeysib- ATATT3 ATCTT3 ops_eyJ rdme_ "
     "doppler_ EZAK EZTK",
     kLetters, 40},
    {"AKCp cmVmd EAAA", kLetters, 50},
    {"ABSK fm1r_ fm1a_ fm2_ EAAC", kLetters, 60},
    {"v1.0-", kLetters, 100},
    {"dapi", kHex, 30},
    {"dop_v1_ doo_v1_ dor_v1_ sbp_ key- SK shpat_ shpca_ shppa_ shpss_ bkua_", kHex, 32},
    {"squ_ pul- rubygems_ sntryu_", kHex, 40},
    {"AKIA ASIA ABIA ACCA", kCapitals, 12},
};

// Calls `check` with a token of each beginning, which has `size` letters behind it, or the least.
void for_each_token(std::size_t size, const std::function<void(const std::string& token)>& check) {
  for (const TokenForm& form : kTokenForms)
    for (std::string_view rest = form.beginnings; !rest.empty();) {
      const std::string beginning(safelaunch::take_word(rest));
      check(beginning + token_rest(form.letters, std::max(size, form.shortest)));
    }
}

}  // namespace

TEST_CASE("a token of each service is one from its shortest length on", "[redact][tokens]") {
  for_each_token(0, [](const std::string& token) {
    INFO(token);
    CHECK(token_at_start(token) == token.size());
    CHECK(token_at_start(token.substr(0, token.size() - 1)) == 0);
  });
}

TEST_CASE("a token is taken to its end and no further", "[redact][tokens]") {
  for_each_token(120, [](const std::string& token) {
    INFO(token);
    CHECK(token_at_start(token) == token.size());
    for (const char* behind : {" x", ",x", "\"", "\n", ")", "<"})
      CHECK(token_at_start(token + behind) == token.size());
  });
}

TEST_CASE("a token begins no later than its word", "[redact][tokens]") {
  for_each_token(120, [](const std::string& token) {
    INFO(token);
    for (const char* before : {"x", "_", "7", "Z"}) CHECK(token_length(before + token, 1) == 0);
    for (const char* before : {" ", ".", "-", "/", "=", "\"", ":"})
      CHECK(token_length(before + token, 1) == token.size());
  });
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
