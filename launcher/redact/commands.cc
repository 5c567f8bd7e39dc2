#include <algorithm>
#include <array>

#include "characters.h"
#include "names.h"
#include "places.h"

// A known program makes the rest of its line a command, whatever stands before it: a prompt, a
// log's time, the bracket of a list in Python. The words of the command are then looked through for
// the options that take a password with this program. Programs are listed by name, since the same
// letter is a port or a folder elsewhere.
namespace safelaunch::redact {
namespace {

// The part of an option's value that is secret.
enum class Holds {
  all,
  attached,  // all of it, in the option's own word: -pPASSWORD
  behind_colon,
  behind_percent,
  pairs,
};

struct PasswordOption {
  Words programs;
  std::string_view options;  // with blanks between them
  Holds holds;
  std::string_view only_with = {};  // the option is a port or a folder without this word
};

constexpr std::array kOptions{
    PasswordOption{Words("curl"), "-u --user -U --proxy-user", Holds::behind_colon},
    PasswordOption{Words("curl"), "-b --cookie", Holds::pairs},
    PasswordOption{Words("http https"), "-a --auth", Holds::behind_colon},
    PasswordOption{Words("redis-cli"), "-a", Holds::all},
    PasswordOption{Words("sshpass mongo mongosh mongodump mongorestore"), "-p", Holds::all},
    PasswordOption{Words("mysql mysqldump mysqladmin mysqlimport mariadb mariadb-dump 7z 7za 7zr"),
                   "-p", Holds::attached},
    PasswordOption{Words("docker podman helm skopeo oras az"), "-p", Holds::all, "login"},
    PasswordOption{Words("ldapsearch ldapadd ldapmodify"), "-w", Holds::all},
    PasswordOption{Words("smbclient"), "-U", Holds::behind_percent},
    PasswordOption{Words("ipmitool unzip zip"), "-P", Holds::all},
    PasswordOption{Words("openssl"), "-k", Holds::all},
    PasswordOption{Words("openssl"), "-passin -passout -pass", Holds::behind_colon},
    PasswordOption{Words("htpasswd"), "-b", Holds::all},
};
// A word behind these is the secret: a setting's of ldap.conf, a login's last, one that is piped.
constexpr std::string_view kOthers = "bindpw rootpw wandb gcloud mc dvc sqlplus echo printf";

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
    case Holds::attached:
      if (is_secret_value(NameKind::secret, {}, value)) places.push_back(word.place(from));
      break;
    case Holds::behind_colon: behind(':'); break;
    case Holds::behind_percent: behind('%'); break;
    case Holds::pairs:
      if (value.find('=') != std::string_view::npos) places.push_back(word.place(from));
      break;
  }
}

void find_option(const std::vector<Word>& words, std::string_view option, Holds holds,
                 SecretPlaces& places) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view text = words[i].text;
    if (!text.starts_with(option)) continue;
    const std::string_view rest = text.substr(option.size());
    if (rest.empty() && holds != Holds::attached && i + 1 < words.size() &&
        !words[i + 1].text.starts_with('-'))
      add(words[i + 1], 0, holds, places);
    else if (rest.starts_with('=') || rest.starts_with('\'') || rest.starts_with('"'))
      add(words[i], option.size() + 1, holds, places);
    else if (!rest.empty() && option.size() == 2)
      add(words[i], option.size(), holds, places);
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

// Where the same program has to be looked at again: of a line that goes on behind what was read,
// the second half. Else "curl curl curl …" would be read over and over.
std::size_t looked_through(std::string_view text, std::size_t at, const std::vector<Word>& words) {
  const std::size_t stop = end_of_command(text, at);
  const std::size_t until = stop - at < kLongestCommand ? stop : at + kLongestCommand / 2;
  return words.size() < kMostWords ? until : std::min(until, words[kMostWords / 2].begin);
}

}  // namespace

std::string known_programs() {
  std::string all(kOthers);
  for (const PasswordOption& option : kOptions) all += ' ' + std::string(option.programs.text());
  std::ranges::replace(all, ' ', '|');
  return all;
}

void find_in_command(std::string_view text, SecretPlace name, SeenCommand& seen,
                     SecretPlaces& places) {
  const std::string_view program = text.substr(name.begin, name.end - name.begin);
  if (program == seen.program && name.end <= seen.until) return;
  const std::vector<Word> words = words_of(text, name.end);
  if (program == "echo" || program == "printf") return find_piped(words, places);
  seen = {program, looked_through(text, name.end, words)};
  if (program == "bindpw" || program == "rootpw") {
    if (words.size() == 1) add(words[0], 0, Holds::all, places);
    return;
  }
  find_last_word(program, words, places);
  for (const PasswordOption& row : kOptions)
    if (row.programs.has(program) && (row.only_with.empty() || has(words, row.only_with)))
      for (std::string_view options = row.options; !options.empty();)
        find_option(words, take_word(options), row.holds, places);
}

}  // namespace safelaunch::redact
