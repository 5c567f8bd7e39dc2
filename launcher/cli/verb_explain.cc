#include <iostream>
#include <iterator>

#include "safelaunch/cli/answer.h"
#include "safelaunch/cli/verb_options.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/diagnose/explain.h"
#include "safelaunch/profile/variables.h"

namespace safelaunch {
namespace {

int explain_stdin() {
  const std::string log{std::istreambuf_iterator<char>(std::cin), {}};
  const std::string text = explain_log(log, Catalogue::builtin());
  return answer(text.empty() ? "nothing in this log names a cause\n" : text);
}

}  // namespace

int verb_explain(std::span<const std::string> words) {
  std::vector<std::string> what;
  VerbOptions verb("explain", "CAUSE | VARIABLE | -",
                   "A cause (F04, shm-small), the truth about a variable (NCCL_TIMEOUT), or with - "
                   "the causes that a\nlog on stdin shows, the first failure before its victims.");
  if (const auto status = verb.settle(words, what)) return *status;
  if (what.size() != 1)
    return refuse(
        {Errc::usage,
         "explain takes one word: a cause (F04, shm-small), a variable (NCCL_TIMEOUT), or "
         "- for a log on stdin"});
  if (what[0] == "-") return explain_stdin();
  if (const Cause* cause = Catalogue::builtin().find(what[0])) return answer(explain(*cause));
  return answer(explain_variable(what[0]));
}

}  // namespace safelaunch
