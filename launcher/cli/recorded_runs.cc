#include "recorded_runs.h"

#include <algorithm>
#include <array>

#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/report/run_directory.h"
#include "verb_wishes.h"
#include "verbs.h"

// A run is over once it has an outcome, or once its process is gone. A record of another boot or
// host may belong to a run that still runs there, so it is not taken for one that is over.
namespace safelaunch::cli {
namespace {

std::filesystem::file_time_type oldest_that_may_run() {
  auto oldest = std::filesystem::file_time_type::max();
  for (const report::KnownRun& run : report::known_runs(places_of_runs()))
    if (life_of(line_of(run), host::read_boot_id()) != report::RunLife::over)
      oldest = std::min(oldest, run.began);
  return oldest;
}

constexpr std::array kRunsOptions{
    settings::Option{.name = "newest",
                     .letter = 'n',
                     .put = settings::put_into<&RunsWords::newest>,
                     .help = "the last N of them alone",
                     .range = {.first = 1}},
    settings::Option{.name = "failed",
                     .put = settings::put_into<&RunsWords::failed>,
                     .help = "those alone that ended with another status than 0, or were cut off"},
    settings::Option{
        .name = "json", .put = settings::put_into<&RunsWords::json>, .help = "as JSON"},
    settings::Option{.name = "ids",
                     .put = settings::put_into<&RunsWords::ids>,
                     .help = "the ids alone, for completions"},
};

bool has_failed(const report::RunLine& line) {
  return line.outcome ? line.outcome->exit_code != 0
                      : line.state == report::RunRecord::State::cut_off;
}

/// Those that were asked for, the newest last.
std::vector<report::KnownRun> runs_to_list(const RunsWords& given) {
  std::vector<report::KnownRun> runs = report::known_runs(places_of_runs());
  if (given.failed) std::erase_if(runs, [](const auto& run) { return !has_failed(line_of(run)); });
  const auto most = static_cast<std::size_t>(given.newest.value_or(0));
  if (most > 0 && runs.size() > most) runs.erase(runs.begin(), runs.end() - *given.newest);
  return runs;
}

std::string ids_of(std::span<const report::KnownRun> runs) {
  std::string text;
  for (const report::KnownRun& run : runs) text += run.id + "\n";
  return text;
}

int list_runs(const RunsWords& given, const std::vector<std::string>& /*rest*/) {
  const std::vector<report::KnownRun> runs = runs_to_list(given);
  if (given.ids) return answer(ids_of(runs));
  std::vector<report::RunLine> lines;
  for (const report::KnownRun& run : runs) lines.push_back(line_of(run));
  return given.json ? answer(report::runs_json(lines)) : answer_in_prose(report::render(lines));
}

}  // namespace

std::vector<std::filesystem::path> places_of_runs() {
  return report::places_of_runs(current_environment());
}

report::RunLine line_of(const report::KnownRun& run) {
  static const std::string boot_id = host::read_boot_id();
  report::RunLine line = report::read_run_line(run);
  if (!line.outcome && line.boot_id == boot_id && host::is_running(line.process)) {
    line.state = report::RunRecord::State::running;
    line.took = std::chrono::duration_cast<Duration>(std::filesystem::file_time_type::clock::now() -
                                                     run.began);
  }
  return line;
}

std::vector<report::RunLine> lines_of_running() {
  std::vector<report::RunLine> running;
  for (const report::KnownRun& run : report::known_runs(places_of_runs()))
    if (report::RunLine line = line_of(run); line.state == report::RunRecord::State::running)
      running.push_back(std::move(line));
  return running;
}

report::RunLife life_of(const report::RunLine& line, std::string_view boot_id) {
  if (line.outcome) return report::RunLife::over;
  if (line.boot_id != boot_id) return report::RunLife::unknown;  // maybe of a host that shares HOME
  return line.state == report::RunRecord::State::running ? report::RunLife::running
                                                         : report::RunLife::over;
}

void remove_old_records(report::KeepLimits limits, const Environment& environment) {
  const auto life = [](const std::filesystem::path& directory) {
    return life_of(line_of({directory.filename().native(), directory, directory, {}}),
                   host::read_boot_id());
  };
  for (const auto& place : report::places_of_runs(environment))
    report::remove_old_runs(place, limits, life);
  report::remove_old_installations(cache_directory(environment), limits, oldest_that_may_run);
}

const Verb kRunsVerb{
    .name = "runs",
    .function = reads<RunsWords, list_runs>,
    .help = "the recorded runs, and how each ended",
    .usage = "[OPTIONS]",
    .purpose =
        "Lists the recorded runs, the newest last: when each began, how long it took, how it "
        "ended. Name a run by any part of its id that no other id has: `safelaunch report a1b2c3`.",
    .example = "safelaunch runs\nsafelaunch runs --failed -n 5",
    .options = kRunsOptions};

}  // namespace safelaunch::cli
