#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/explain.h"
#include "safelaunch/profile/variables.h"
#include "safelaunch/redact/redactor.h"
#include "verbs.h"

namespace safelaunch::cli {
namespace {

int explain_log(const std::string& log) {
  redact::Redactor redactor;
  redactor.learn(current_environment());
  redactor.learn(log);
  return answer(redactor.redact(diagnose::explain_log(log, diagnose::catalogue())));
}

// An error's words, as a person copies them from a screen.
int explain_sentence(std::string_view words) {
  const diagnose::Cause* cause = diagnose::cause_named_by(words, diagnose::catalogue());
  return answer(cause != nullptr ? diagnose::explain(*cause)
                                 : "No known cause shows in these words.\n");
}

// A log, unless it shows nothing and is one line that names a cause as people do.
int explain_stdin() {
  const std::string log{std::istreambuf_iterator<char>(std::cin), {}};
  if (std::ferror(stdin) != 0) return refuse({Errc::usage, "stdin cannot be read"});
  const diagnose::Catalogue& catalogue = diagnose::catalogue();
  const bool one_line = std::ranges::count(log, '\n') <= 1;
  const bool names_one = one_line && diagnose::read_log(log, catalogue).empty() &&
                         diagnose::cause_named_by(log, catalogue) != nullptr;
  return names_one ? explain_sentence(log) : explain_log(log);
}

int explain_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse({Errc::usage, path + " cannot be read"});
  return explain_log({std::istreambuf_iterator<char>(file), {}});
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// NCCL_TIMEOUT, or what somebody takes for one.
bool looks_like_variable(std::string_view word) {
  if (profile::truth_about(word)) return true;
  return word.find('_') != std::string_view::npos &&
         std::ranges::none_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
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
  std::vector<std::string> what;
  if (const auto status = settle(kExplainVerb, words, nullptr, what)) return *status;
  if (what.empty())
    return refuse(
        {Errc::usage,
         "explain takes a cause (F04, shm-small), a variable (NCCL_TIMEOUT), a log, an error's "
         "words, or - for a log on stdin"});
  if (what.size() > 1) return explain_sentence(join(what, " "));
  if (what[0] == "-") return explain_stdin();
  if (const diagnose::Cause* cause = diagnose::catalogue().find(what[0]))
    return answer(diagnose::explain(*cause));
  if (looks_like_variable(what[0])) return answer(profile::explain_variable(what[0]));
  if (is_file(what[0])) return explain_file(what[0]);
  if (is_folder(what[0]))
    return refuse({Errc::usage, what[0] + " is a directory; explain reads a log file"});
  if (what[0].find(' ') != std::string::npos) return explain_sentence(what[0]);
  return refuse(unknown(what[0]));
}

}  // namespace

const Verb kExplainVerb{
    .name = "explain",
    .function = explain_words,
    .help = "a CAUSE, a VARIABLE, a LOG, or an error's words",
    .usage = "CAUSE | VARIABLE | LOG | WORDS | -",
    .purpose =
        "A cause (F04, shm-small), the truth about a variable (NCCL_TIMEOUT), the causes that a "
        "log "
        "shows, the first failure before its victims, or the cause that an error's words name. "
        "With - the log is read from stdin.",
    .example =
        "safelaunch explain NCCL_TIMEOUT\nsafelaunch explain train.log\nsafelaunch explain \"CUDA "
        "out of memory\""};

}  // namespace safelaunch::cli
