#include <algorithm>
#include <iostream>
#include <iterator>

#include "answer.h"
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

int explain_stdin() {
  const std::string log{std::istreambuf_iterator<char>(std::cin), {}};
  const std::string text = diagnose::explain_log(log, diagnose::catalogue());
  redact::Redactor redactor;
  redactor.learn(current_environment());
  redactor.learn(log);
  return answer(text.empty() ? "nothing in this log names a cause\n" : redactor.redact(text));
}

// NCCL_TIMEOUT, or what somebody takes for one.
bool looks_like_variable(std::string_view word) {
  return word.find('_') != std::string_view::npos &&
         std::ranges::none_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

Error unknown(const std::string& word) {
  std::vector<std::string_view> ids;
  for (const diagnose::Cause& cause : diagnose::catalogue().causes())
    ids.insert(ids.end(), {cause.id, cause.ref});
  return {Errc::usage, fmt::format("there is no cause '{}'{}", word, did_you_mean(word, ids))};
}

int explain_words(std::span<const std::string> words) {
  std::vector<std::string> what;
  if (const auto status = settle(kExplainVerb, words, nullptr, what)) return *status;
  if (what.size() != 1)
    return refuse(
        {Errc::usage,
         "explain takes one word: a cause (F04, shm-small), a variable (NCCL_TIMEOUT), or "
         "- for a log on stdin"});
  if (what[0] == "-") return explain_stdin();
  if (const diagnose::Cause* cause = diagnose::catalogue().find(what[0]))
    return answer(diagnose::explain(*cause));
  if (looks_like_variable(what[0])) return answer(profile::explain_variable(what[0]));
  return refuse(unknown(what[0]));
}

}  // namespace

const Verb kExplainVerb{
    .name = "explain",
    .function = explain_words,
    .help = "a CAUSE, a VARIABLE, or - for a log on stdin",
    .usage = "CAUSE | VARIABLE | -",
    .purpose =
        "A cause (F04, shm-small), the truth about a variable (NCCL_TIMEOUT), or with - the causes "
        "that a log on stdin shows, the first failure before its victims.",
    .example = "safelaunch explain NCCL_TIMEOUT\nsafelaunch explain - < train.log"};

}  // namespace safelaunch::cli
