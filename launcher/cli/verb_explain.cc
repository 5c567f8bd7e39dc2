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

int explain_log(const std::string& log, std::uint64_t left_out) {
  redact::Redactor redactor;
  redactor.learn(current_environment());
  redactor.learn(log);
  std::string text = redactor.redact(diagnose::explain_log(log, diagnose::catalogue()));
  if (left_out > 0)
    text += "\n" + tr("The middle of the log, {}, was left out.", rough_size(left_out)) + "\n";
  answer_in_prose(text);
  return diagnose::read_log(log, diagnose::catalogue()).empty() ? kNothingKnown : 0;
}

int tell_of_sentence(const std::string& words) {
  answer_in_prose(explain_sentence(words));
  return diagnose::cause_named_by(words, diagnose::catalogue()) == nullptr ? kNothingKnown : 0;
}

int explain_stream(int fd, const std::string& name) {
  BothEnds ends(kHeadOfLog, kTailOfLog);
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse({Errc::usage, name + " cannot be read"});
    if (got == 0) break;
    ends.add({block.data(), static_cast<std::size_t>(got)});
  }
  const std::string log = ends.take();
  return is_sentence(log) ? tell_of_sentence(log) : explain_log(log, ends.left_out());
}

int explain_pipe(const std::string& path) {
  const UniqueFd pipe(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return explain_stream(pipe.get(), path);
}

int explain_file(const std::string& path) {
  const Result<UniqueFd> file = open_user_file(path);
  struct stat facts {};
  if (!file || ::fstat(file->get(), &facts) != 0)
    return refuse({Errc::usage, path + " cannot be read"});
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
  const std::string log = ends.take();
  return explain_log(log, ends.left_out());
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

int explain_words(std::span<const std::string> words) {
  std::vector<std::string> rest;
  if (const auto status = settle(kExplainVerb, words, nullptr, rest)) return *status;
  const Result<Question> question = question_in(rest, look_at_path);
  if (!question) return refuse(question.error());
  switch (question->about) {
    case Question::About::cause:
      return answer_in_prose(diagnose::explain(*diagnose::catalogue().find(question->what)));
    case Question::About::variable:
      answer_in_prose(profile::explain_variable(question->what));
      return profile::truth_about(question->what) ? 0 : kNothingKnown;
    case Question::About::log_file: return explain_file(question->what);
    case Question::About::log_in_pipe: return explain_pipe(question->what);
    case Question::About::log_on_stdin: return explain_stream(STDIN_FILENO, "stdin");
    case Question::About::sentence: return tell_of_sentence(question->what);
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

std::string explain_sentence(std::string_view words) {
  const diagnose::Cause* cause = diagnose::cause_named_by(words, diagnose::catalogue());
  if (cause == nullptr) return tr("No known cause shows in these words.") + "\n";
  std::string text = diagnose::explain(*cause);
  std::string others;
  for (const diagnose::Cause* one : diagnose::causes_in_chinese(words, diagnose::catalogue()))
    if (one != cause) others += fmt::format("  {}  {}\n", one->id, tr(one->title));
  return others.empty() ? text : text + fmt::format("\n{}\n{}", tr("These fit as well:"), others);
}

bool is_sentence(std::string_view text) {
  const diagnose::Catalogue& catalogue = diagnose::catalogue();
  return std::ranges::count(text, '\n') <= 1 && diagnose::read_log(text, catalogue).empty() &&
         diagnose::cause_named_by(text, catalogue) != nullptr;
}

const Verb kExplainVerb{
    .name = "explain",
    .function = explain_words,
    .help = "a CAUSE, a VARIABLE, a LOG, or an error's words",
    .usage = "CAUSE | VARIABLE | LOG | WORDS | -",
    .purpose =
        "Explains a cause (F04, shm-small), a variable (NCCL_TIMEOUT), the causes that a log "
        "shows, the first failure before its victims, or the cause that an error's words name. "
        "With - it reads the log from stdin.",
    .example =
        "safelaunch explain NCCL_TIMEOUT\nsafelaunch explain train.log\nsafelaunch explain \"CUDA "
        "out of memory\"",
    .takes = kManyWords};

}  // namespace safelaunch::cli
