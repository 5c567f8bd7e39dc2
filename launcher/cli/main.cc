#include <exception>

#include "safelaunch/base/language.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/result.h"
#include "safelaunch/launch/guardian.h"
#include "switched_off.h"
#include "verbs.h"

int main(int argc, char** argv) {
  using namespace safelaunch;
  const std::string_view first = argc > 1 ? argv[1] : "help";
  const cli::Verb& verb = cli::find_verb(first);
  if (verb.name == "run" && cli::is_switched_off())
    if (const auto status = cli::become_command(verb, cli::words_behind(argc, argv)))
      return *status;
  // Before anything is allocated or opened: the other half of the program is to stay small.
  if (verb.starts_job == cli::StartsJob::yes) launch::split_guardian();
  try {
    speak(language_of(current_environment()));
    return cli::with_answers(verb.function(verb, cli::words_behind(argc, argv)));
  } catch (const std::exception& bug) {
    log_error(std::string("safelaunch itself failed: ") + bug.what());
    return exit_code_of(Errc::os);
  }
}
