// What launchers tell of the rank that failed first, in a text of which the launcher is not known.
#include "safelaunch/diagnose/failure_words.h"
#include "safelaunch/job/launcher_report.h"

namespace safelaunch::diagnose {

std::optional<ReportedExit> reported_exit(std::string_view text) {
  for (const job::Launcher launcher : {job::Launcher::torchrun, job::Launcher::python,
                                       job::Launcher::deepspeed, job::Launcher::accelerate}) {
    const auto failure = job::read_launcher_failure(launcher, text);
    if (failure && failure->status)
      return ReportedExit{rank_of(launcher, *failure), *failure->status};
  }
  return std::nullopt;
}

}  // namespace safelaunch::diagnose
