#include <algorithm>
#include <array>
#include <bitset>

#include "characters.h"
#include "names.h"
#include "places.h"

// A known program makes the rest of its line a command, whatever stands before it: a prompt, a
// log's time, the bracket of a list in Python. The words of the command are then looked through for
// the options that take a password with this program. Programs are listed by name, since the same
// letter is a port or a folder elsewhere.
namespace safelaunch::redact {
namespace {

using std::string_view_literals::operator""sv;

// The part of an option's value that is secret.
enum class Holds { all, behind_colon, behind_percent, behind_slash, pairs };

struct PasswordOption {
  std::string_view program;
  std::string_view option;
  Holds holds;
};

constexpr std::array kOptions{
    PasswordOption{"curl", "-u", Holds::behind_colon},
    PasswordOption{"curl", "--user", Holds::behind_colon},
    PasswordOption{"curl", "-U", Holds::behind_colon},
    PasswordOption{"curl", "--proxy-user", Holds::behind_colon},
    PasswordOption{"http", "-a", Holds::behind_colon},
    PasswordOption{"http", "--auth", Holds::behind_colon},
    PasswordOption{"https", "-a", Holds::behind_colon},
    PasswordOption{"https", "--auth", Holds::behind_colon},
    PasswordOption{"curl", "-b", Holds::pairs},
    PasswordOption{"curl", "--cookie", Holds::pairs},
    PasswordOption{"sshpass", "-p", Holds::all},
    PasswordOption{"redis-cli", "-a", Holds::all},
    PasswordOption{"mongo", "-p", Holds::all},
    PasswordOption{"mongosh", "-p", Holds::all},
    PasswordOption{"mongodump", "-p", Holds::all},
    PasswordOption{"mongorestore", "-p", Holds::all},
    PasswordOption{"ldapsearch", "-w", Holds::all},
    PasswordOption{"ldapadd", "-w", Holds::all},
    PasswordOption{"ldapmodify", "-w", Holds::all},
    PasswordOption{"smbclient", "-U", Holds::behind_percent},
    PasswordOption{"ipmitool", "-P", Holds::all},
    PasswordOption{"docker", "-p", Holds::all},
    PasswordOption{"podman", "-p", Holds::all},
    PasswordOption{"helm", "-p", Holds::all},
    PasswordOption{"skopeo", "-p", Holds::all},
    PasswordOption{"oras", "-p", Holds::all},
    PasswordOption{"az", "-p", Holds::all},
    PasswordOption{"openssl", "-k", Holds::all},
    PasswordOption{"openssl", "-passin", Holds::behind_colon},
    PasswordOption{"openssl", "-passout", Holds::behind_colon},
    PasswordOption{"openssl", "-pass", Holds::behind_colon},
    PasswordOption{"unzip", "-P", Holds::all},
    PasswordOption{"zip", "-P", Holds::all},
    PasswordOption{"htpasswd", "-b", Holds::all},
};
// These take the password in the option's own word: -pPASSWORD.
constexpr std::array kAttached{"mysql"sv,       "mysqldump"sv, "mysqladmin"sv,
                               "mysqlimport"sv, "mariadb"sv,   "mariadb-dump"sv,
                               "7z"sv,          "7za"sv,       "7zr"sv};
// `-p` is a login's here, and a port's or a folder's elsewhere.
constexpr std::array kOnlyToLogIn{"docker"sv, "podman"sv, "helm"sv, "skopeo"sv, "oras"sv, "az"sv};
// The one word behind these is the secret: lines of ldap.conf and slapd.conf.
constexpr std::array kSettings{"bindpw"sv, "rootpw"sv};
// The last words of these are the secret.
constexpr std::array kLastWord{"wandb"sv, "gcloud"sv, "mc"sv, "dvc"sv, "sqlplus"sv};

constexpr std::size_t kMostWords = 64;
constexpr std::size_t kLongestCommand = 4'096;

// A word of a command line, without its quotes and without the marks of a list around it.
struct Word {
  std::string_view text;
  std::size_t begin = 0;
  [[nodiscard]] SecretPlace place(std::size_t from = 0) const {
    return {begin + from, begin + text.size()};
  }
};

bool is_around(char c) {
  return is_quote(c) || c == ',' || c == '[' || c == ']';
}

// The end of the line, as far as a command is read.
std::size_t end_of_command(std::string_view text, std::size_t at) {
  return at + end_of_line(text.substr(at, kLongestCommand), 0);
}

// The words of the rest of the line; `'a', 'b'` as Python and JSON list them too.
std::vector<Word> words_of(std::string_view text, std::size_t at) {
  std::vector<Word> words;
  const std::size_t stop = end_of_command(text, at);
  while (at < stop && words.size() < kMostWords) {
    while (at < stop && (is_blank(text[at]) || is_around(text[at]))) ++at;
    const bool quoted = at > 0 && is_quote(text[at - 1]);
    std::size_t end = at;
    if (quoted)
      while (end < stop && text[end] != text[at - 1]) ++end;
    else
      while (end < stop && !is_blank(text[end])) ++end;
    std::size_t last = end;
    while (!quoted && last > at && is_around(text[last - 1])) --last;
    if (last > at) words.push_back({text.substr(at, last - at), at});
    at = end == at ? at + 1 : end;
  }
  return words;
}

bool has(const std::vector<Word>& words, std::string_view text) {
  return std::any_of(words.begin(), words.end(),
                     [&](const Word& word) { return word.text == text; });
}

void add(const Word& word, std::size_t from, Holds holds, SecretPlaces& places) {
  const std::string_view value = word.text.substr(from);
  const auto behind = [&](char sign) {
    const std::size_t at = value.find(sign);
    if (at != std::string_view::npos && at + 1 < value.size())
      places.push_back(word.place(from + at + 1));
  };
  switch (holds) {
    case Holds::all:
      if (is_secret_value(NameKind::secret, {}, value)) places.push_back(word.place(from));
      break;
    case Holds::behind_colon: behind(':'); break;
    case Holds::behind_percent: behind('%'); break;
    case Holds::behind_slash: behind('/'); break;
    case Holds::pairs:
      if (value.find('=') != std::string_view::npos) places.push_back(word.place(from));
      break;
  }
}

void find_option(const std::vector<Word>& words, const PasswordOption& option,
                 SecretPlaces& places) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view text = words[i].text;
    if (!text.starts_with(option.option)) continue;
    const std::string_view rest = text.substr(option.option.size());
    const bool is_long = option.option.starts_with("--");
    if (rest.empty() && i + 1 < words.size() && !words[i + 1].text.starts_with('-'))
      add(words[i + 1], 0, option.holds, places);
    else if (rest.starts_with('=') || rest.starts_with('\'') || rest.starts_with('"'))
      add(words[i], option.option.size() + 1, option.holds, places);
    else if (!rest.empty() && !is_long && option.option.size() == 2)
      add(words[i], option.option.size(), option.holds, places);
  }
}

void find_attached(const std::vector<Word>& words, SecretPlaces& places) {
  for (const Word& word : words) {
    if (!word.text.starts_with("-p") || word.text.size() < 3) continue;
    const bool quoted = is_quote(word.text[2]);
    add(word, quoted ? 3 : 2, Holds::all, places);
  }
}

// `wandb login KEY`, `mc alias set NAME URL ID SECRET`, `dvc remote modify NAME password SECRET`.
void find_last_word(std::string_view program, const std::vector<Word>& words,
                    SecretPlaces& places) {
  if (words.empty()) return;
  const Word& last = words.back();
  if (last.text.starts_with('-')) return;
  const bool login = program == "wandb" && has(words, "login") && last.text.size() >= 20 &&
                     last.text.find(':') == std::string_view::npos;
  const bool refresh = program == "gcloud" && has(words, "activate-refresh-token");
  const bool alias =
      program == "mc" && has(words, "alias") && has(words, "set") && words.size() >= 6;
  const bool remote = program == "dvc" && words.size() >= 2 && has(words, "modify") &&
                      is_secret_value(kind_of_name(words.end()[-2].text), {}, last.text);
  if (login || refresh || alias || remote) places.push_back(last.place());
  if (program != "sqlplus") return;
  for (const Word& word : words) {
    const std::size_t slash = word.text.find('/');
    const std::size_t host = std::min(word.text.find('@'), word.text.size());
    if (slash != std::string_view::npos && slash > 0 && slash + 1 < host)
      places.push_back({word.begin + slash + 1, word.begin + host});
  }
}

// echo PASSWORD | sudo -S
void find_piped(const std::vector<Word>& words, SecretPlaces& places) {
  if (words.size() < 4 || words[1].text != "|") return;
  const bool takes = has(words, "-S") || has(words, "--password-stdin") || has(words, "--stdin") ||
                     has(words, "--with-token") || has(words, "chpasswd");
  if (takes) places.push_back(words[0].place());
}

// Every word of every text is looked up. Its length and its first letter rule out most of them.
std::size_t slot_of(std::string_view program) {
  return (static_cast<unsigned char>(program[0]) % 32) * 16 + program.size() % 16;
}

bool may_be_known(std::string_view program) {
  static const auto known = [] {
    std::bitset<32 * 16> result;
    for (const PasswordOption& option : kOptions) result.set(slot_of(option.program));
    for (const std::string_view name : kAttached) result.set(slot_of(name));
    for (const std::string_view name : kLastWord) result.set(slot_of(name));
    for (const std::string_view name : kSettings) result.set(slot_of(name));
    for (const std::string_view name : {"echo", "printf"}) result.set(slot_of(name));
    return result;
  }();
  return known[slot_of(program)];
}

bool is_known(std::string_view program) {
  return program == "echo" || program == "printf" || among(kAttached, program) ||
         among(kLastWord, program) || among(kSettings, program) ||
         std::any_of(kOptions.begin(), kOptions.end(),
                     [&](const PasswordOption& option) { return option.program == program; });
}

// Where the same program has to be looked at again: of a line that goes on behind what was read,
// the second half. Else "curl curl curl …" would be read over and over.
std::size_t looked_through(std::string_view text, std::size_t at, const std::vector<Word>& words) {
  const std::size_t stop = end_of_command(text, at);
  const std::size_t until = stop - at < kLongestCommand ? stop : at + kLongestCommand / 2;
  return words.size() < kMostWords ? until : std::min(until, words[kMostWords / 2].begin);
}

}  // namespace

void find_in_command(std::string_view text, std::size_t program_begin, std::size_t program_end,
                     SeenCommand& seen, SecretPlaces& places) {
  const std::string_view program = text.substr(program_begin, program_end - program_begin);
  if (!may_be_known(program) || !is_known(program)) return;
  const char next = program_end < text.size() ? text[program_end] : '\n';
  if (!is_blank(next) && !is_quote(next)) return;
  if (program == seen.program && program_end <= seen.until) return;
  const std::vector<Word> words = words_of(text, program_end);
  if (program == "echo" || program == "printf") return find_piped(words, places);
  seen = {program, looked_through(text, program_end, words)};
  if (among(kAttached, program)) find_attached(words, places);
  if (among(kLastWord, program)) find_last_word(program, words, places);
  if (among(kSettings, program) && words.size() == 1) add(words[0], 0, Holds::all, places);
  if (among(kOnlyToLogIn, program) && !has(words, "login")) return;
  for (const PasswordOption& option : kOptions)
    if (option.program == program) find_option(words, option, places);
}

}  // namespace safelaunch::redact
