#include <exception>

#include "safelaunch/base/language.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/result.h"
#include "safelaunch/launch/guardian.h"
#include "verbs.h"

int main(int argc, char** argv) {
  using namespace safelaunch;
  const std::string_view first = argc > 1 ? argv[1] : "help";
  const cli::Verb& verb = cli::find_verb(first);
  // Before anything is allocated or opened: the other half of the program is to stay small.
  if (verb.starts_job == cli::StartsJob::yes) launch::split_guardian();
  try {
    speak(language_of(current_environment()));
    const std::vector<std::string> words(argv + (cli::is_verb(first) && argc > 1 ? 2 : 1),
                                         argv + argc);
    return cli::with_answers(verb.function(words));
  } catch (const std::exception& bug) {
    log_error(std::string("safelaunch itself failed: ") + bug.what());
    return exit_code_of(Errc::os);
  }
}
