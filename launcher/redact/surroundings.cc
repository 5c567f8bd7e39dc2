#include <array>

#include "assignments.h"
#include "characters.h"
#include "pattern.h"
#include "places.h"
#include "safelaunch/redact/redactor.h"

// What one expression can describe is one row here, and all rows are searched for at once. The
// group of a row is the secret, or the place at which another reader begins.
namespace safelaunch::redact {
namespace {

enum class Found {
  value,    // a secret, whatever it is
  random,   // a secret if it looks random
  bearer,   // ... or like a password
  basic,    // ... or is base64 of "user:password"
  named,    // a secret unless it is a word like None
  record,   // a line whose fifth field is a secret
  block,    // the name above an indented block of secrets
  bracket,  // the begin of a bracket of secrets
};

struct Surroundings {
  std::string_view expression;
  Found found;
  std::string_view beside = {};  // must stand nearby
};

constexpr std::array kSurroundings{
    // The rest of such an address is a key: everybody who knows it may come in.
    Surroundings{R"((?:hooks\.slack\.com/(?:services|workflows|triggers)|/open-apis/bot/v2/hook)"
                 R"(|hooks\.zapier\.com/hooks/catch|office\.com/webhook(?:b2)?|/with/key)"
                 R"(|events\.pagerduty\.com/integration|hc-ping\.com|/api/webhooks/[^/\s]+))"
                 R"(/([^\s"'`<>\\|]+))",
                 Found::value},
    Surroundings{R"(api\.telegram\.org/bot([^/\s"'`<>\\|]+))", Found::value},
    Surroundings{R"(/t/([\w.~+=-]{16,}))", Found::random},  // a channel of conda
    Surroundings{R"(jdbc:oracle:\w*:[^/@\s"'`]*/([^@\s"'`<>\\|]+)@)", Found::value},
    // Hashes of passwords, as /etc/shadow and htpasswd have them, and PuTTY's checksum.
    Surroundings{R"(\$(?:1|5|6|y|2[aby]|apr1|argon2\w{0,4})\$([0-9A-Za-z./$=,+-]{19,}))",
                 Found::value},
    Surroundings{R"(\{(?:SHA|SSHA|PBKDF2|CRYPT)\}([0-9A-Za-z./$=,+-]+))", Found::value},
    Surroundings{R"(Private-MAC: ([^\n]+))", Found::value},
    // The private members of a JSON Web Key.
    Surroundings{R"r("(?:d|k|p|q|dp|dq|qi)":[ \t"]*([\w+/=-]{16,}))r", Found::value, R"("kty":)"},
    Surroundings{R"(\b(?i:bearer)[ \t]+([\w.+/=~-]+))", Found::bearer},
    Surroundings{R"(\b(?i:basic)[ \t]+([\w.+/=~-]+))", Found::basic},
    // login("KEY") and HTTPBasicAuth('user', 'PASSWORD')
    Surroundings{R"((?:^|[^\w-])(?:login|HTTPBasicAuth|Fernet)\((?:["'`][^"'`)\n]*["'`],\s*)?)"
                 R"(b?["'`]([^"'`)\n]+)["'`])",
                 Found::named},
    // A password, passphrase, key, token, credential or code by its name in another language.
    Surroundings{
        R"((?:密码|密碼|口令|密钥|密鑰|令牌|私钥|私鑰|凭证|验证码|パスワード|暗証番号|비밀번호)"
        R"(|пароль|Пароль|contraseña|Contraseña)[ \t"'`]*(?:[:=]|：|＝|是|为|は)[ \t"'`]*)"
        R"(([^\s"'`,;)}<\x80-\xff][^\s"'`,;)}\x80-\xff]*))",
        Found::named},
    // Lines of ~/.pgpass, and what is certain to be one within a sentence. The bytes of a host are
    // few, or each word would be read on to the end of the text.
    Surroundings{
        R"((?m:^)([\w.*-]*:(?:\*|\d{3,5})(?::[^\s/:]*[^\s/:\d][^\s/:]*){2}:[^ \t\n]+)(?m:$))",
        Found::record},
    Surroundings{R"((?:^|[\s"'`([{<=])((?:[\w.*-]+:5432|(?:localhost|\*):(?:\*|\d{3,5}))"
                 R"(|[\w.-]*\.[A-Za-z]{2,}:\d{3,5}|(?:\d+\.){3}\d+:\d{3,5}))"
                 R"((?::[^\s/:]*[^\s/:\d][^\s/:]*){2}:[^\s"'`]+))",
                 Found::record},
    // A vault of Ansible, and the private lines of a key of PuTTY.
    Surroundings{
        R"(\$ANSIBLE_VAULT;[\w.;-]*[ \t\r]*\n((?:[^\n]*[[:xdigit:]]{16,}[ \t\r]*\n)*[^\n]*)"
        R"([[:xdigit:]]{16,}(?:\n[ \t]*[[:xdigit:]]+(?m:$))?))",
        Found::value},
    Surroundings{R"(Private-Lines: [1-9]\d*\r?\n()"
                 R"((?:(?:(?:[^\n]*[ \t])?[\w+/=]{16,}|[\w+/=]+)\r?\n)*)"
                 R"((?:(?:[^\n]*[ \t])?[\w+/=]{16,}|[\w+/=]+))(?m:$))",
                 Found::value},
    // A Secret of Kubernetes, in YAML and JSON.
    Surroundings{R"(\n((?:data|stringData):)\n)", Found::block, "kind: Secret\n"},
    Surroundings{R"r("(?:data|stringData)":\s*(\{))r", Found::bracket, R"("Secret")"},
};

// Whether it is base64 of "user:password": a ':' is below one of its digits.
bool is_login(std::string_view base64) {
  static const Pattern kLogin(
      "(?:[\\w+/]{4})*(?:O[g-v]|[\\w+/][DTjz][o-r]|[\\w+/]{2}[AEIMQUYcgkosw048]6)[\\w+/]*=*");
  return base64.size() >= 8 && base64.size() % 4 == 0 && kLogin.is(base64);
}

// Where the password of host:port:database:user:password begins. An address of the sixth version
// and a place in a program have none.
std::size_t password_in(std::string_view record) {
  static const Pattern kFields("(?:[^:]*:){4}");
  static const Pattern kOther(
      R"((?:[[:xdigit:]]*:){4}.*)"
      R"(|[^:]*\.(?:py|pyx|cc|cpp|cu|cuh|hpp|rs|go|js|ts|sh|java|log|txt|yaml):.*)");
  return kOther.is(record) ? record.size() : kFields.length_in(record);
}

bool shows_secret(Found found, std::string_view value) {
  switch (found) {
    case Found::random: return looks_random(value);
    case Found::basic:
    case Found::bearer:
      return looks_random(value) || looks_like_password(value) ||
             (found == Found::basic && is_login(value));
    case Found::named: return value == kRedacted || is_secret_value(NameKind::secret, {}, value);
    default: return true;
  }
}

bool stands_beside(std::string_view text, std::size_t at, std::string_view beside) {
  constexpr std::size_t kReach = 2'000;
  const std::size_t from = at < kReach ? 0 : at - kReach;
  return text.substr(from, 2 * kReach).find(beside) != text.npos;
}

void take(Found found, std::string_view text, SecretPlace place, SecretPlaces& places) {
  const std::string_view value = text.substr(place.begin, place.end - place.begin);
  switch (found) {
    case Found::block:
      find_in_indented(text, place.begin, NameKind::secret, UserNames::taken, places);
      break;
    case Found::bracket: find_in_brackets(text, place.begin, NameKind::secret, places); break;
    case Found::record: places.push_back({place.begin + password_in(value), place.end}); break;
    default:
      if (shows_secret(found, value)) places.push_back(place);
  }
}

const RE2& all_surroundings() {
  static const RE2 all(
      [] {
        std::string rows;
        for (const Surroundings& row : kSurroundings) rows += std::string(row.expression) + "|";
        return rows + "(?:^|[^\\w.-])(" + known_programs() + ")[ \\t\"'`]";
      }(),
      RE2::Latin1);
  return all;
}

}  // namespace

void find_by_surroundings(std::string_view text, SecretPlaces& places) {
  constexpr std::size_t kRows = kSurroundings.size();
  std::array<re2::StringPiece, kRows + 2> groups;  // all of it, one for each row, the program
  SeenCommand seen;
  const re2::StringPiece all(text.data(), text.size());
  for (std::size_t at = 0; all_surroundings().Match(all, at, all.size(), RE2::UNANCHORED,
                                                    groups.data(), groups.size());) {
    std::size_t row = 0;
    while (row < kRows && groups[row + 1].data() == nullptr) ++row;
    const re2::StringPiece& group = groups[row + 1];
    const auto begin = static_cast<std::size_t>(group.data() - text.data());
    const SecretPlace place{begin, at = begin + group.size()};
    if (row == kRows)
      find_in_command(text, place, seen, places);
    else if (stands_beside(text, begin, kSurroundings[row].beside))
      take(kSurroundings[row].found, text, place, places);
  }
}

}  // namespace safelaunch::redact
