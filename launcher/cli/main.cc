#include <exception>
#include <string>
#include <vector>

#include "safelaunch/base/log.h"
#include "safelaunch/base/result.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/launch/guardian.h"

int main(int argc, char** argv) {
  using namespace safelaunch;
  const std::string_view first = argc > 1 ? argv[1] : "help";
  const Verb& verb = find_verb(first);
  // Before anything is allocated or opened: the other half of the program is to stay small.
  if (verb.starts_job == StartsJob::yes) split_guardian();
  try {
    const std::vector<std::string> words(argv + (is_verb(first) && argc > 1 ? 2 : 1), argv + argc);
    return verb.function(words);
  } catch (const std::exception& bug) {
    log_error(std::string("safelaunch itself failed: ") + bug.what());
    return exit_code_of(Errc::os);
  }
}
