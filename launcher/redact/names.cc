#include "names.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "characters.h"
#include "pattern.h"
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
constexpr Words kSecretParts(
    "pwd psk creds sshpass keypass storepass requirepass masterauth userpwd otp jwt dbpass "
    "askpw authorization");
// These are secret where they stand last: a part behind them tells about the secret, and is not the
// secret.
constexpr Words kLastParts("pass pw pat auth cred cookie cookies");
// "key" behind one of these is a key of that kind.
constexpr Words kBeforeKey(
    "api access private account shared preshared auth secret signing encryption storage "
    "subscription wandb kaggle ssh license client unseal master consumer service integration "
    "hmac app openai anthropic azure application ingest deploy");
// ... and behind one of these it is none.
constexpr Words kPublicBeforeKey(
    "cache primary foreign sort group partition row hash dict store barrier map object public "
    "pub index query hot data input output lookup unique state worker rank config label "
    "idempotency dedup registry metric batch image text");
// A token of a language model.
constexpr Words kBeforePublicToken(
    "pad eos bos unk mask cls sep image next special start end stop text video audio num max "
    "min prompt class eot boi eoi patch per last first use decoder begin continuation "
    "unexpected unknown");
// The last parts of names of things that belong to a secret and are none.
constexpr Words kPublicLast(
    "file files path paths dir dirs folder name names type types size length len count url "
    "uri endpoint env policy method mode ttl expiry expires format version index idx dim "
    "position positions ratio rate limit required enabled disabled host port user username "
    "helper provider hint label mask ring manager store backend class parallelism seen second "
    "step sec info sock authority id ids in at timeout loss embedding embeddings mixer "
    "askpass algorithm digest age ref region rotation service authentication");
// "id" says who has the secret, but these services want it hidden too.
constexpr Words kSecretIds("access private secret");
// Parts that say how a secret is written.
constexpr Words kNeutralLast("value b64 base64 raw str string plain text old new data default");

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
  if (kBeforeKey.has(before)) return NameKind::secret;
  if (kPublicBeforeKey.has(before)) return NameKind::plain;
  const bool variable = parts.size() >= 2 && is_all_upper(name) && name.ends_with("_KEY");
  return variable ? NameKind::token : NameKind::key;
}

bool ends_in_token(std::string_view part) {
  return part == "token" || (part.ends_with("token") && part.size() <= 16);
}

NameKind kind_of_parts(std::vector<std::string> parts, std::string_view name) {
  while (parts.size() > 1 && kNeutralLast.has(parts.back())) parts.pop_back();
  if (parts.empty()) return NameKind::plain;
  const std::string& last = parts.back();
  if (kPublicLast.has(last)) {
    const bool id = last == "id" && parts.size() >= 2;
    const std::string_view first_of_pair =
        id ? std::string_view(parts.size() >= 3 && parts.end()[-2] == "key" ? parts.end()[-3]
                                                                            : parts.end()[-2])
           : ""sv;
    return kSecretIds.has(first_of_pair) ? NameKind::secret : NameKind::plain;
  }
  for (const std::string& part : parts) {
    if (kSecretParts.has(part)) return NameKind::secret;
    if (part == "secretary" || part == "passwordless") continue;
    for (const std::string_view stem : kSecretStems)
      if (part.find(stem) != std::string::npos) return NameKind::secret;
  }
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i + 1] == "key" && kBeforeKey.has(parts[i])) return NameKind::secret;
    if (parts[i] == "pass" && (parts[i + 1] == "word" || parts[i + 1] == "phrase"))
      return NameKind::secret;
  }
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)  // of a store of passwords: BW_SESSION
    if (parts[i + 1] == "session" && (parts[i] == "bw" || parts[i] == "op")) return NameKind::key;
  if (last == "key") return kind_of_key(parts, name);
  const std::string_view before = parts.size() < 2 ? ""sv : std::string_view(parts.end()[-2]);
  if (ends_in_token(last))
    return kBeforePublicToken.has(before) ? NameKind::plain : NameKind::token;
  if (last == "tokens") return kBeforePublicToken.has(before) ? NameKind::plain : NameKind::key;
  if (last == "pat") return before.empty() ? NameKind::plain : NameKind::token;
  return kLastParts.has(last) ? NameKind::token : NameKind::plain;
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

constexpr Words kNoSecrets(
    "none null nil true false yes no on off undefined empty unset n/a required optional "
    "disabled enabled inherit default auto str string bytes int bool object is not was must "
    "nan invalid missing expired ok set hidden basic bearer oauth oauth2 oidc kerberos "
    "anonymous negotiate digest ldap local munge password token key secret value text lambda "
    "nullptr");

// A value that is written so is no secret, but a place for one, code that fetches it, or a line of
// source.
bool stands_for_a_secret(std::string_view value) {
  static const Pattern kWritten(
      R"(\[.*redacted\].*|\*+|\.+|[xX]+|[-_]+|\\+|…|<.*>|(?:\$\{|\$\(|\{\{|%\().*|%s|\{\}|\[\]|\(\))"
      R"(|\{[A-Za-z_.][\w.]*\}|\[[A-Z_][A-Z0-9]*_[A-Z0-9_]*\]|\$[A-Z0-9_]+)"  // {token}, $TOKEN
      R"(|[A-Za-z_.][\w.]*[(\[].*|(?:self|args|config|cfg)\.[\w.]*)"          // os.environ["X"]
      R"(|.+\.py(?::\d+)?)");                                                 // train.py:17
  return kWritten.is(value);
}

// A person names the folders, so none mixes capitals, small letters and digits.
bool is_path(std::string_view value) {
  static const Pattern kPath = [] {
    const std::string no = R"([^/+=@:,;!$%&*(){}[\]<>|"' \t)";
    const std::string folder =
        "(?:" + no + "]{0,3}|" + no + "0-9]*|" + no + "A-Z]*|" + no + "a-z]*)";
    return Pattern("(?:[~/]|\\.\\.?/)" + folder + "(?:/" + folder + ")*");
  }();
  return value.size() > 2 && kPath.is(value);
}

// A shell names its working directory so. In another variable, or as another text, it is a
// password.
bool is_working_directory(std::string_view name, std::string_view value) {
  return name == "PWD" && value.starts_with('/');
}

// "c10d/0/worker/12", "layers.17.self_attn.weight", "step_0012": small words and numbers that signs
// join, as stores and models name things. A random key has a part that mixes letters and digits.
bool is_words(std::string_view value) {
  static const Pattern kWords(
      "(?:(?:[a-z0-9]{0,4}|[a-z]+[0-9]{0,4}|[0-9]+)[/_.-])*[a-z]{4,}"
      "(?:[/_.-](?:[a-z0-9]{0,4}|[a-z]+[0-9]{0,4}|[0-9]+))*");
  return value.find_first_of("/_.-") != value.npos && kWords.is(value);
}

bool is_count(std::string_view value) {
  static const Pattern kCount("[0-9.-][0-9.,eE+%kKMB-]{0,11}");
  return kCount.is(value);
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

bool is_no_secret(std::string_view value) {
  constexpr std::size_t kLongestWord = 16;
  constexpr std::size_t kLongest = 200;  // a longer value is no word, path or call
  if (value.empty()) return true;
  if (value.size() > kLongest) return false;
  static const Pattern kVariable("[A-Z_][A-Z0-9]*_[A-Z0-9_]*");
  if (value.size() <= kLongestWord && kNoSecrets.has(lower(value))) return true;
  if (kVariable.is(value) && is_secret_name(value)) return true;  // the variable that has it
  return stands_for_a_secret(value) || is_path(value);
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
  static const Pattern kAlphabet(R"([\w+/=.~-]*)");
  static const Pattern kInMemory("0x[0-9a-fA-F]{0,16}");  // an address
  if (value.size() < kShortest || value.find("//") != value.npos) return false;
  const Made made = made_of(value);
  if (made.digits < 2 || made.lowers + made.uppers < 2) return false;
  if (!kAlphabet.is(value) || is_words(value) || kInMemory.is(value)) return false;
  // Seven small letters in a row may be a word, but one in twenty random values of 40 has them too.
  constexpr std::size_t kLong = 24;
  const bool changes_often =
      made.signs == 0 && value.size() >= kLong && 7 * made.changes >= 3 * value.size();
  const bool hexadecimal = value.find_first_not_of("0123456789abcdef") == value.npos;
  return made.longest_word < 7 || changes_often || hexadecimal;
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
  if (value == name || is_working_directory(name, value)) return false;  // token=token
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
