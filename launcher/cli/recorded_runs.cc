#include "recorded_runs.h"

#include <algorithm>

#include "safelaunch/base/environment.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/run/hook_door.h"

namespace safelaunch {
namespace {

RunLife life_of(const RunLine& line) {
  if (line.outcome) return RunLife::over;
  if (line.boot_id != read_boot_id()) return RunLife::unknown;  // maybe of a host that shares HOME
  return line.state == RunRecord::State::running ? RunLife::running : RunLife::over;
}

std::filesystem::file_time_type oldest_that_may_run() {
  auto oldest = std::filesystem::file_time_type::max();
  for (const KnownRun& run : known_runs(places_of_runs()))
    if (life_of(line_of(run)) != RunLife::over) oldest = std::min(oldest, run.began);
  return oldest;
}

}  // namespace

std::vector<std::filesystem::path> places_of_runs() {
  return places_of_runs(current_environment());
}

RunLine line_of(const KnownRun& run) {
  static const std::string boot_id = read_boot_id();
  RunLine line = read_run_line(run);
  if (!line.outcome && line.boot_id == boot_id && is_running(line.process)) {
    line.state = RunRecord::State::running;
    line.took = std::chrono::duration_cast<Duration>(std::filesystem::file_time_type::clock::now() -
                                                     run.began);
  }
  return line;
}

void remove_old_records(KeepLimits limits, const Environment& environment) {
  const auto life = [](const std::filesystem::path& directory) {
    return life_of(line_of({directory.filename().native(), directory, directory, {}}));
  };
  for (const auto& place : places_of_runs(environment)) remove_old_runs(place, limits, life);
  remove_old_installations(cache_directory(environment), limits, oldest_that_may_run);
}

}  // namespace safelaunch
