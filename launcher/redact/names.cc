#include "names.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "characters.h"
#include "safelaunch/redact/redactor.h"

// A name is cut into its parts, and the last part decides first: a part like `file` or `length`
// only tells about a secret. Then any part may make the name a secret's, and `key` and `token` are
// judged by the part before them. A value is judged by its letters: words like None, paths, code
// and places for a secret are no secrets; for a weak name such as `key` the value must look random.
namespace safelaunch::redact {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kLongestName = 120;

// A part with one of these inside makes the name a secret's: `pgpassword`, `clientsecret`.
constexpr std::array kSecretStems{
    "passw"sv,         "passphrase"sv, "passcode"sv,        "secret"sv,      "credential"sv,
    "apikey"sv,        "accesskey"sv,  "privatekey"sv,      "accountkey"sv,  "sharedkey"sv,
    "encryptionkey"sv, "authkey"sv,    "subscriptionkey"sv, "presharedkey"sv};
// These are secret where they are a part of their own.
constexpr std::array kSecretParts{"pwd"sv,     "psk"sv,          "creds"sv,       "sshpass"sv,
                                  "keypass"sv, "storepass"sv,    "requirepass"sv, "masterauth"sv,
                                  "userpwd"sv, "otp"sv,          "jwt"sv,         "dbpass"sv,
                                  "askpw"sv,   "authorization"sv};
// These are secret where they stand last: a part behind them tells about the secret, and is not the
// secret.
constexpr std::array kLastParts{"pass"sv, "pw"sv,     "pat"sv,    "auth"sv,
                                "cred"sv, "cookie"sv, "cookies"sv};
// "key" behind one of these is a key of that kind.
constexpr std::array kBeforeKey{
    "api"sv,    "access"sv,    "private"sv, "account"sv,     "shared"sv,  "preshared"sv,
    "auth"sv,   "secret"sv,    "signing"sv, "encryption"sv,  "storage"sv, "subscription"sv,
    "wandb"sv,  "kaggle"sv,    "ssh"sv,     "license"sv,     "client"sv,  "unseal"sv,
    "master"sv, "consumer"sv,  "service"sv, "integration"sv, "hmac"sv,    "app"sv,
    "openai"sv, "anthropic"sv, "azure"sv,   "application"sv, "ingest"sv,  "deploy"sv};
// ... and behind one of these it is none.
constexpr std::array kPublicBeforeKey{
    "cache"sv,       "primary"sv, "foreign"sv,  "sort"sv,    "group"sv, "partition"sv, "row"sv,
    "hash"sv,        "dict"sv,    "store"sv,    "barrier"sv, "map"sv,   "object"sv,    "public"sv,
    "pub"sv,         "index"sv,   "query"sv,    "hot"sv,     "data"sv,  "input"sv,     "output"sv,
    "lookup"sv,      "unique"sv,  "state"sv,    "worker"sv,  "rank"sv,  "config"sv,    "label"sv,
    "idempotency"sv, "dedup"sv,   "registry"sv, "metric"sv,  "batch"sv, "image"sv,     "text"sv};
// A token of a language model.
constexpr std::array kBeforePublicToken{
    "pad"sv,   "eos"sv,     "bos"sv,     "unk"sv,          "mask"sv,       "cls"sv,    "sep"sv,
    "image"sv, "next"sv,    "special"sv, "start"sv,        "end"sv,        "stop"sv,   "text"sv,
    "video"sv, "audio"sv,   "num"sv,     "max"sv,          "min"sv,        "prompt"sv, "class"sv,
    "eot"sv,   "boi"sv,     "eoi"sv,     "patch"sv,        "per"sv,        "last"sv,   "first"sv,
    "use"sv,   "decoder"sv, "begin"sv,   "continuation"sv, "unexpected"sv, "unknown"sv};
// The last parts of names of things that belong to a secret and are none.
constexpr std::array kPublicLast{
    "file"sv,      "files"sv,      "path"sv,    "paths"sv,    "dir"sv,         "dirs"sv,
    "folder"sv,    "name"sv,       "names"sv,   "type"sv,     "types"sv,       "size"sv,
    "length"sv,    "len"sv,        "count"sv,   "url"sv,      "uri"sv,         "endpoint"sv,
    "env"sv,       "policy"sv,     "method"sv,  "mode"sv,     "ttl"sv,         "expiry"sv,
    "expires"sv,   "format"sv,     "version"sv, "index"sv,    "idx"sv,         "dim"sv,
    "position"sv,  "positions"sv,  "ratio"sv,   "rate"sv,     "limit"sv,       "required"sv,
    "enabled"sv,   "disabled"sv,   "host"sv,    "port"sv,     "user"sv,        "username"sv,
    "helper"sv,    "provider"sv,   "hint"sv,    "label"sv,    "mask"sv,        "ring"sv,
    "manager"sv,   "store"sv,      "backend"sv, "class"sv,    "parallelism"sv, "seen"sv,
    "second"sv,    "step"sv,       "sec"sv,     "info"sv,     "sock"sv,        "authority"sv,
    "id"sv,        "ids"sv,        "in"sv,      "at"sv,       "timeout"sv,     "loss"sv,
    "embedding"sv, "embeddings"sv, "mixer"sv,   "askpass"sv,  "algorithm"sv,   "digest"sv,
    "age"sv,       "ref"sv,        "region"sv,  "rotation"sv, "service"sv,     "authentication"sv};
// "id" says who has the secret, but these services want it hidden too.
constexpr std::array kSecretIds{"access"sv, "private"sv, "secret"sv};
// Parts that say how a secret is written.
constexpr std::array kNeutralLast{"value"sv, "b64"sv,  "base64"sv, "raw"sv, "str"sv,  "string"sv,
                                  "plain"sv, "text"sv, "old"sv,    "new"sv, "data"sv, "default"sv};

// "--dbPassword2" → db, password; "AWSAccessKeyId" → aws, access, key, id.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  std::string part;
  const auto end_part = [&] {
    if (!part.empty()) parts.push_back(std::move(part));
    part.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_letter(c) && !(is_digit(c) && !part.empty() && i + 1 < name.size() &&
                           is_letter(name[i + 1]) && part == "b")) {
      if (!is_digit(c)) end_part();
      continue;
    }
    const bool after_lower = i > 0 && is_lower(name[i - 1]);
    const bool before_lower = i + 1 < name.size() && is_lower(name[i + 1]);
    const bool after_upper = i > 0 && is_upper(name[i - 1]);
    if (is_upper(c) && (after_lower || (after_upper && before_lower))) end_part();
    part += to_lower(c);
  }
  end_part();
  return parts;
}

bool is_all_upper(std::string_view name) {
  return std::none_of(name.begin(), name.end(), is_lower);
}

NameKind kind_of_key(const std::vector<std::string>& parts, std::string_view name) {
  const std::string_view before = parts.size() < 2 ? ""sv : std::string_view(parts.end()[-2]);
  if (among(kBeforeKey, before)) return NameKind::secret;
  if (among(kPublicBeforeKey, before)) return NameKind::plain;
  const bool variable = parts.size() >= 2 && is_all_upper(name) && name.ends_with("_KEY");
  return variable ? NameKind::token : NameKind::key;
}

bool ends_in_token(std::string_view part) {
  return part == "token" || (part.ends_with("token") && part.size() <= 16);
}

NameKind kind_of_parts(std::vector<std::string> parts, std::string_view name) {
  while (parts.size() > 1 && among(kNeutralLast, parts.back())) parts.pop_back();
  if (parts.empty()) return NameKind::plain;
  const std::string& last = parts.back();
  if (among(kPublicLast, last)) {
    const bool id = last == "id" && parts.size() >= 2;
    const std::string_view first_of_pair =
        id ? std::string_view(parts.size() >= 3 && parts.end()[-2] == "key" ? parts.end()[-3]
                                                                            : parts.end()[-2])
           : ""sv;
    return among(kSecretIds, first_of_pair) ? NameKind::secret : NameKind::plain;
  }
  for (const std::string& part : parts) {
    if (among(kSecretParts, part)) return NameKind::secret;
    if (part == "secretary" || part == "passwordless") continue;
    for (const std::string_view stem : kSecretStems)
      if (part.find(stem) != std::string::npos) return NameKind::secret;
  }
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i + 1] == "key" && among(kBeforeKey, parts[i])) return NameKind::secret;
    if (parts[i] == "pass" && (parts[i + 1] == "word" || parts[i + 1] == "phrase"))
      return NameKind::secret;
  }
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)  // of a store of passwords: BW_SESSION
    if (parts[i + 1] == "session" && (parts[i] == "bw" || parts[i] == "op")) return NameKind::key;
  if (last == "key") return kind_of_key(parts, name);
  const std::string_view before = parts.size() < 2 ? ""sv : std::string_view(parts.end()[-2]);
  if (ends_in_token(last))
    return among(kBeforePublicToken, before) ? NameKind::plain : NameKind::token;
  if (last == "tokens") return among(kBeforePublicToken, before) ? NameKind::plain : NameKind::key;
  if (last == "pat") return before.empty() ? NameKind::plain : NameKind::token;
  return among(kLastParts, last) ? NameKind::token : NameKind::plain;
}

// Every name of a secret has one of these within it: three letters, of which '_' is any other byte.
constexpr std::array kTraces{"pas"sv, "sec"sv, "cre"sv, "key"sv, "tok"sv, "pwd"sv, "psk"sv,
                             "_pw"sv, "pat"sv, "aut"sv, "coo"sv, "otp"sv, "jwt"sv, "ssi"sv};

constexpr std::size_t letter_code(char c) {
  if (c >= 'a' && c <= 'z') return static_cast<std::size_t>(c - 'a') + 1;
  if (c >= 'A' && c <= 'Z') return static_cast<std::size_t>(c - 'A') + 1;
  return 0;
}

const std::bitset<32 * 32 * 32>& traces() {
  static const auto table = [] {
    std::bitset<32 * 32 * 32> result;
    for (const std::string_view trace : kTraces)
      result.set((letter_code(trace[0]) * 32 + letter_code(trace[1])) * 32 + letter_code(trace[2]));
    return result;
  }();
  return table;
}

// ---- values

constexpr std::array kNoSecrets{
    "none"sv,     "null"sv,      "nil"sv,       "true"sv,    "false"sv,   "yes"sv,     "no"sv,
    "on"sv,       "off"sv,       "undefined"sv, "empty"sv,   "unset"sv,   "n/a"sv,     "required"sv,
    "optional"sv, "disabled"sv,  "enabled"sv,   "inherit"sv, "default"sv, "auto"sv,    "str"sv,
    "string"sv,   "bytes"sv,     "int"sv,       "bool"sv,    "object"sv,  "is"sv,      "not"sv,
    "was"sv,      "must"sv,      "nan"sv,       "invalid"sv, "missing"sv, "expired"sv, "ok"sv,
    "set"sv,      "hidden"sv,    "basic"sv,     "bearer"sv,  "oauth"sv,   "oauth2"sv,  "oidc"sv,
    "kerberos"sv, "anonymous"sv, "negotiate"sv, "digest"sv,  "ldap"sv,    "local"sv,   "munge"sv,
    "password"sv, "token"sv,     "key"sv,       "secret"sv,  "value"sv,   "text"sv,    "lambda"sv,
    "nullptr"sv};

bool is_name_of_variable(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_upper(c) || is_digit(c) || c == '_'; }) &&
         text.find('_') != std::string_view::npos && !is_digit(text[0]);
}

bool all_same_or_dots(std::string_view value) {
  return value.find_first_not_of('*') == std::string_view::npos ||
         value.find_first_not_of('.') == std::string_view::npos ||
         value.find_first_not_of("xX") == std::string_view::npos ||
         value.find_first_not_of("-_") == std::string_view::npos ||
         value.find_first_not_of('\\') == std::string_view::npos;  // of an escaped quote
}

bool is_identifier_path(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_identifier(c) || c == '.'; });
}

// os.environ["X"], getpass.getpass(), self.token: code that fetches the secret, not the secret.
bool is_code(std::string_view value) {
  const std::size_t bracket = value.find_first_of("([");
  if (bracket != std::string_view::npos && bracket > 0)
    return is_identifier_path(value.substr(0, bracket)) &&
           (value[bracket] == '[' || value.find('.') < bracket || value[bracket] == '(');
  return (value.starts_with("self.") || value.starts_with("args.") ||
          value.starts_with("config.") || value.starts_with("cfg.")) &&
         is_identifier_path(value);
}

// <pad>, ${TOKEN}, $TOKEN, {token}, %(token)s, {{ token }}: a place for the secret.
bool is_placeholder(std::string_view value) {
  if (value.starts_with("[") && value.find("redacted]") != std::string_view::npos) return true;
  if (all_same_or_dots(value) || value == "…") return true;
  const char first = value.front();
  const char last = value.back();
  if (first == '<' && last == '>') return true;
  if (value.starts_with("${") || value.starts_with("$(") || value.starts_with("{{")) return true;
  if (value.starts_with("%(") || value == "%s" || value == "{}" || value == "[]" || value == "()")
    return true;
  if (first == '{' && last == '}' && is_identifier_path(value.substr(1, value.size() - 2)))
    return true;
  if (first == '[' && last == ']' && is_name_of_variable(value.substr(1, value.size() - 2)))
    return true;
  return first == '$' && value.size() > 1 &&
         std::all_of(value.begin() + 1, value.end(),
                     [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

bool is_count(std::string_view value) {
  return value.size() <= 12 &&
         value.find_first_not_of("0123456789.,eE+-%kKMB") == std::string_view::npos &&
         (is_digit(value[0]) || value[0] == '-' || value[0] == '.');
}

struct Made {
  std::size_t digits = 0;
  std::size_t lowers = 0;
  std::size_t uppers = 0;
  std::size_t signs = 0;
  std::size_t longest_word = 0;  ///< of small letters in a row, with two vowels among them
  std::size_t changes = 0;       ///< places where a byte is of another kind than the one before
};

Made made_of(std::string_view text) {
  Made made;
  std::size_t run = 0, vowels = 0;
  const std::size_t* kind_before = nullptr;
  for (const char c : text) {
    const bool is_vowel = std::string_view("aeiouy").find(c) != std::string_view::npos;
    run = is_lower(c) ? run + 1 : 0;
    vowels = run == 0 ? 0 : vowels + (is_vowel ? 1 : 0);
    if (vowels >= 2) made.longest_word = std::max(made.longest_word, run);
    std::size_t& kind = is_digit(c)   ? made.digits
                        : is_lower(c) ? made.lowers
                        : is_upper(c) ? made.uppers
                                      : made.signs;
    ++kind;
    if (kind_before != nullptr && kind_before != &kind) ++made.changes;
    kind_before = &kind;
  }
  return made;
}

// A part of a path that a person could have named: no mix of capitals, small letters and digits.
bool is_named_folder(std::string_view part) {
  const Made made = made_of(part);
  return part.size() <= 3 || made.digits == 0 || made.uppers == 0 || made.lowers == 0;
}

bool is_path(std::string_view value) {
  if (!value.starts_with("/") && !value.starts_with("~") && !value.starts_with("./") &&
      !value.starts_with("../"))
    return false;
  if (value.find_first_of("+=@:,;!$%&*(){}[]<>|\"' \t") != std::string_view::npos) return false;
  bool named = false;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find('/'), value.size());
    if (!is_named_folder(value.substr(0, end))) return false;
    named = named || end >= 2;
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return named;
}

// "rank17", "c10d", "weight", "00012": a word that may have a number, a short one, or a number.
bool is_part_of_words(std::string_view part) {
  constexpr std::size_t kShort = 4;
  const auto plain = [](char c) { return is_lower(c) || is_digit(c); };
  if (!std::all_of(part.begin(), part.end(), plain)) return false;
  const std::size_t letters = std::min(part.find_first_of("0123456789"), part.size());
  const std::size_t digits = part.size() - letters;
  return part.size() <= kShort ||
         (std::all_of(part.begin() + static_cast<std::ptrdiff_t>(letters), part.end(), is_digit) &&
          (letters == 0 || digits <= kShort));
}

// "c10d/0/worker/12", "layers.17.self_attn.weight", "step_0012": small words and numbers that signs
// join, as stores and models name things. A random key has a part that mixes letters and digits.
bool is_words(std::string_view value) {
  constexpr std::size_t kWord = 4;
  bool has_word = false;
  std::size_t parts = 0;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of("/_.-"), value.size());
    const std::string_view part = value.substr(0, end);
    if (!is_part_of_words(part)) return false;
    has_word = has_word || (end >= kWord && std::all_of(part.begin(), part.end(), is_lower));
    ++parts;
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return has_word && parts >= 2;
}

// 0x7f8a1c000b20
bool is_address_in_memory(std::string_view value) {
  return value.starts_with("0x") && value.size() <= 18 &&
         std::all_of(value.begin() + 2, value.end(),
                     [](char c) { return hexadecimal_digit(c) >= 0; });
}

// "train.py:17"
bool is_line_of_source(std::string_view value) {
  const std::size_t dot = value.rfind(".py");
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view rest = value.substr(dot + 3);
  return rest.empty() ||
         (rest.size() > 1 && rest[0] == ':' && std::all_of(rest.begin() + 1, rest.end(), is_digit));
}

bool is_no_secret(std::string_view value) {
  constexpr std::size_t kLongestWord = 16;
  constexpr std::size_t kLongest = 200;  // a longer value is no word, path or call
  if (value.empty()) return true;
  if (value.size() > kLongest) return false;
  if (value.size() <= kLongestWord && among(kNoSecrets, lower(value))) return true;
  if (is_name_of_variable(value) && is_secret_name(value))
    return true;  // the name of the variable that has the secret
  return is_placeholder(value) || is_path(value) || is_code(value) || is_line_of_source(value);
}

}  // namespace

bool may_name_a_secret(std::string_view name) {
  std::size_t code = 0;
  const auto& known = traces();
  for (const char c : name) {
    code = (code * 32 + letter_code(c)) % (32 * 32 * 32);
    if (known[code]) return true;
  }
  return false;
}

NameKind kind_of_name(std::string_view name, std::string_view before) {
  if (name.size() > kLongestName) name.remove_prefix(name.size() - kLongestName);
  if (!may_name_a_secret(name)) return NameKind::plain;
  std::vector<std::string> parts = parts_of(name);
  if (parts.size() == 1 && !before.empty()) parts.insert(parts.begin(), lower(before));
  return kind_of_parts(std::move(parts), name);
}

bool is_secret_name(std::string_view name) {
  const NameKind kind = kind_of_name(name);
  return kind == NameKind::secret || kind == NameKind::token;
}

bool looks_random(std::string_view value) {
  constexpr std::size_t kShortest = 16;
  if (value.size() < kShortest || is_words(value) || is_address_in_memory(value)) return false;
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return is_base64(c) || c == '_' || c == '-' || c == '.' || c == '~';
  });
  if (!plain || value.find("//") != std::string_view::npos) return false;
  const Made made = made_of(value);
  if (made.digits < 2 || made.lowers + made.uppers < 2) return false;
  // Seven small letters in a row may be a word, but one in twenty random values of 40 has them too.
  constexpr std::size_t kLong = 24;
  const bool changes_often =
      made.signs == 0 && value.size() >= kLong && 2 * made.changes >= value.size();
  return made.longest_word < 7 || changes_often;
}

bool looks_like_password(std::string_view value) {
  constexpr std::size_t kShortest = 8;
  if (value.size() < kShortest || is_no_secret(value)) return false;
  if (value.find("://") != std::string_view::npos) return false;
  const Made made = made_of(value);
  return made.digits > 0 && made.lowers + made.uppers > 0 && !is_count(value);
}

bool is_secret_value(NameKind kind, std::string_view name, std::string_view value) {
  if (kind == NameKind::plain || is_no_secret(value)) return false;
  if (kind == NameKind::key) return looks_random(value);
  if (value == name) return false;  // token=token
  if (kind == NameKind::token) {
    if (is_count(value) || value.starts_with("<") || value.starts_with("[PAD")) return false;
    if (lower(name) == "auth" || name.ends_with("cookie") || name.ends_with("pass"))
      return value.size() >= 6;
  }
  return true;
}

bool is_worth_learning(std::string_view value) {
  constexpr std::size_t kShortest = 8;
  constexpr std::size_t kLongEnough = 16;
  if (value.size() < kShortest || is_no_secret(value)) return false;
  if (value.starts_with("http://") || value.starts_with("https://")) return false;
  const Made made = made_of(value);
  const bool mixed = made.digits > 0 && made.lowers + made.uppers > 0;
  return mixed || value.size() >= kLongEnough;
}

}  // namespace safelaunch::redact
