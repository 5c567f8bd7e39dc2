#include <cstdio>
#include <iostream>
#include <iterator>

#include "safelaunch/base/result.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/diagnose/explain.h"
#include "safelaunch/profile/variables.h"

namespace safelaunch {
namespace {

int print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

int explain_stdin() {
  const std::string log{std::istreambuf_iterator<char>(std::cin), {}};
  const std::string text = explain_log(log, Catalogue::builtin());
  return print(text.empty() ? "nothing in this log names a cause\n" : text);
}

}  // namespace

int verb_explain(std::span<const std::string> words) {
  if (words.size() != 1) {
    std::fputs(
        "safelaunch: explain takes one word: a cause (F04, shm-small), a variable "
        "(NCCL_TIMEOUT), or - for a log on stdin\n",
        stderr);
    return exit_code_of(Errc::usage);
  }
  if (words[0] == "-") return explain_stdin();
  if (const Cause* cause = Catalogue::builtin().find(words[0])) return print(explain(*cause));
  return print(explain_variable(words[0]));
}

}  // namespace safelaunch
