#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "safelaunch/base/both_ends.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/explain.h"
#include "safelaunch/profile/variables.h"
#include "safelaunch/redact/redactor.h"
#include "verb_wishes.h"
#include "verbs.h"

// One word may be a cause, a variable or a file; the kind is decided before anything is read.
// Several words, or one with blanks, are the words of an error.
namespace safelaunch::cli {
namespace {

// Together they are what the diagnosis reads of a text (diagnose/log_line.h).
constexpr std::size_t kHeadOfLog = 1U << 20;
constexpr std::size_t kTailOfLog = 3U << 20;
constexpr int kNothingKnown = 1;  // as of grep

constexpr std::array kExplainOptions{
    settings::Option{
        .name = "json", .put = settings::put_into<&ExplainWords::json>, .help = "as JSON"},
};

/// A log's beginning and its end, and the size of what lies between them.
struct LogText {
  std::string text;
  std::uint64_t left_out = 0;
};

std::vector<diagnose::Sighting> named(std::span<const diagnose::Cause* const> causes) {
  std::vector<diagnose::Sighting> seen;
  for (const diagnose::Cause* cause : causes)
    seen.push_back({cause, diagnose::Strength::proof, {}, {}, {}});
  return seen;
}

int explain_causes(std::span<const diagnose::Cause* const> causes, const std::string& text,
                   const ExplainWords& given) {
  given.json ? answer(diagnose::causes_json(named(causes))) : answer_in_prose(text);
  return causes.empty() ? kNothingKnown : 0;
}

int explain_words_of_error(const std::string& words, const ExplainWords& given) {
  return explain_causes(causes_in_sentence(words), explain_sentence(words), given);
}

int explain_log(const LogText& log, const ExplainWords& given) {
  redact::Redactor redactor;
  redactor.learn(current_environment());
  redactor.learn(log.text);
  std::vector<diagnose::Sighting> seen = diagnose::read_log(log.text, diagnose::catalogue());
  for (diagnose::Sighting& one : seen) one.line = redactor.redact(one.line);
  if (given.json) {
    answer(diagnose::causes_json(seen));
  } else {
    std::string text = redactor.redact(diagnose::explain_log(log.text, diagnose::catalogue()));
    if (log.left_out > 0)
      text +=
          "\n" + tr("The middle of the log, {}, was left out.", rough_size(log.left_out)) + "\n";
    answer_in_prose(text);
  }
  return seen.empty() ? kNothingKnown : 0;
}

Result<LogText> read_stream(int fd, const std::string& name) {
  BothEnds ends(kHeadOfLog, kTailOfLog);
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Errc::usage, name + " cannot be read"};
    if (got == 0) break;
    ends.add({block.data(), static_cast<std::size_t>(got)});
  }
  return LogText{ends.take(), ends.left_out()};
}

int explain_stream(int fd, const std::string& name, const ExplainWords& given) {
  const Result<LogText> log = read_stream(fd, name);
  if (!log) return refuse(log.error());
  return is_sentence(log->text) ? explain_words_of_error(log->text, given)
                                : explain_log(*log, given);
}

int explain_pipe(const std::string& path, const ExplainWords& given) {
  const UniqueFd pipe(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return explain_stream(pipe.get(), path, given);
}

Result<LogText> read_file(const std::string& path) {
  const Result<UniqueFd> file = open_user_file(path);
  struct stat facts {};
  if (!file || ::fstat(file->get(), &facts) != 0)
    return Error{Errc::usage, path + " cannot be read"};
  BothEnds ends(kHeadOfLog, kTailOfLog);
  std::array<char, 65536> block;
  const auto size = static_cast<std::uint64_t>(facts.st_size);  // a job may go on to write
  for (std::uint64_t at = 0; at < size;) {
    if (ends.has_head() && size - at > kTailOfLog) {
      ends.skip(size - kTailOfLog - at);
      at = size - kTailOfLog;
    }
    const ssize_t got = ::pread(file->get(), block.data(), block.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    ends.add({block.data(), static_cast<std::size_t>(got)});
    at += static_cast<std::uint64_t>(got);
  }
  return LogText{ends.take(), ends.left_out()};
}

int explain_file(const std::string& path, const ExplainWords& given) {
  const Result<LogText> log = read_file(path);
  return log ? explain_log(*log, given) : refuse(log.error());
}

int explain_variable(const std::string& name, const ExplainWords& given) {
  given.json ? answer(profile::variable_json(name))
             : answer_in_prose(profile::explain_variable(name));
  return profile::truth_about(name) ? 0 : kNothingKnown;
}

AtPath look_at_path(const std::string& path) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  return type == std::filesystem::file_type::regular     ? AtPath::file
         : type == std::filesystem::file_type::fifo      ? AtPath::pipe
         : type == std::filesystem::file_type::directory ? AtPath::folder
                                                         : AtPath::nothing;
}

std::string upper(std::string word) {
  for (char& c : word)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return word;
}

// NCCL_TIMEOUT, or what somebody takes for one.
bool looks_like_variable(std::string_view word) {
  return word.find('_') != std::string_view::npos && std::ranges::all_of(word, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// "$NCCL_TIMEOUT" and "NCCL_TIMEOUT=30" are questions about NCCL_TIMEOUT.
std::string without_shell(const std::string& word) {
  const std::string name = word.substr(word.starts_with('$') ? 1 : 0);
  const std::string before = name.substr(0, name.find('='));
  return looks_like_variable(upper(before)) ? before : word;
}

Error unknown(const std::string& word) {
  std::vector<std::string_view> ids;
  for (const diagnose::Cause& cause : diagnose::catalogue().causes())
    ids.insert(ids.end(), {cause.id, cause.ref});
  const std::string hint = did_you_mean(word, ids);
  return {Errc::usage, fmt::format("there is no cause '{}'{}", word,
                                   hint.empty() ? ", and no variable or file of that name" : hint)};
}

int explain_words(const ExplainWords& given, const std::vector<std::string>& rest) {
  const Result<Question> question = question_in(rest, look_at_path);
  if (!question) return refuse(question.error());
  switch (question->about) {
    case Question::About::cause: {
      const std::array cause{diagnose::catalogue().find(question->what)};
      return explain_causes(cause, diagnose::explain(*cause.front()), given);
    }
    case Question::About::variable: return explain_variable(question->what, given);
    case Question::About::log_file: return explain_file(question->what, given);
    case Question::About::log_in_pipe: return explain_pipe(question->what, given);
    case Question::About::log_on_stdin: return explain_stream(STDIN_FILENO, "stdin", given);
    case Question::About::sentence: return explain_words_of_error(question->what, given);
  }
  return exit_code_of(Errc::os);
}

}  // namespace

Result<Question> question_in(std::span<const std::string> words,
                             const std::function<AtPath(const std::string&)>& look) {
  using About = Question::About;
  if (words.empty())
    return Error{Errc::usage,
                 "explain takes a cause (F04, shm-small), a variable (NCCL_TIMEOUT), a log, an "
                 "error's words, or - for a log on stdin"};
  if (words.size() > 1) return Question{About::sentence, join(words, " ")};
  const std::string word = without_shell(words[0]);
  if (word == "-") return Question{About::log_on_stdin, {}};
  if (word.empty()) return unknown(word);  // some causes have no number
  if (diagnose::catalogue().find(word) != nullptr) return Question{About::cause, word};
  if (profile::truth_about(word)) return Question{About::variable, word};
  const AtPath there = look(word);
  if (there == AtPath::file) return Question{About::log_file, word};
  if (there == AtPath::pipe) return Question{About::log_in_pipe, word};
  if (there == AtPath::folder)
    return Error{Errc::usage, word + " is a directory; explain reads a log file"};
  if (looks_like_variable(word)) return Question{About::variable, word};
  if (std::string name = upper(word); profile::truth_about(name))
    return Question{About::variable, std::move(name)};
  if (word.find(' ') != std::string::npos || diagnose::has_chinese(word) ||
      diagnose::cause_named_by(word, diagnose::catalogue()) != nullptr)  // EADDRINUSE
    return Question{About::sentence, word};
  return unknown(word);
}

std::vector<const diagnose::Cause*> causes_in_sentence(std::string_view words) {
  const diagnose::Cause* best = diagnose::cause_named_by(words, diagnose::catalogue());
  if (best == nullptr) return {};
  std::vector<const diagnose::Cause*> causes{best};
  for (const diagnose::Cause* one : diagnose::causes_in_chinese(words, diagnose::catalogue()))
    if (one != best) causes.push_back(one);
  return causes;
}

std::string explain_sentence(std::string_view words) {
  const std::vector<const diagnose::Cause*> causes = causes_in_sentence(words);
  if (causes.empty()) return tr("No known cause shows in these words.") + "\n";
  std::string text = diagnose::explain(*causes.front());
  if (causes.size() > 1) text += "\n" + tr("These fit as well:") + "\n";
  for (const diagnose::Cause* one : std::span(causes).subspan(1))
    text += fmt::format("  {}  {}\n", one->id, tr(one->title));
  return text;
}

bool is_sentence(std::string_view text) {
  const diagnose::Catalogue& catalogue = diagnose::catalogue();
  return std::ranges::count(text, '\n') <= 1 && diagnose::read_log(text, catalogue).empty() &&
         diagnose::cause_named_by(text, catalogue) != nullptr;
}

const Verb kExplainVerb{
    .name = "explain",
    .function = reads<ExplainWords, explain_words>,
    .help = "a CAUSE, a VARIABLE, a LOG, or an error's words",
    .usage = "CAUSE | VARIABLE | LOG | WORDS | - [OPTIONS]",
    .purpose =
        "Explains a cause (F04, shm-small), a variable (NCCL_TIMEOUT), the causes that a log "
        "shows, the first failure before its victims, or the cause that an error's words name. "
        "With - it reads the log from stdin.",
    .example =
        "safelaunch explain NCCL_TIMEOUT\nsafelaunch explain train.log\nsafelaunch explain \"CUDA "
        "out of memory\"",
    .options = kExplainOptions,
    .takes = kManyWords};

}  // namespace safelaunch::cli
