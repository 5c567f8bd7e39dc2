#include "safelaunch/report/find_run.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/nearest.h"
#include "safelaunch/report/known_runs.h"

namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;

std::string listed(const std::vector<fs::path>& places) {
  std::string text;
  for (const fs::path& place : places) text += (text.empty() ? "" : " or ") + place.native();
  return text;
}

Error ambiguous(std::string_view named, const std::vector<KnownRun>& runs) {
  constexpr std::size_t kShown = 10;
  std::string text =
      fmt::format("'{}' is in the names of {} runs; the newest:", named, runs.size());
  for (const KnownRun& run : std::span(runs).last(std::min(kShown, runs.size())))
    text += fmt::format("\n  {}  {}", run.id, command_in_words(read_run_line(run)));
  return {Errc::usage, text};
}

Error unknown(std::string_view named, const std::vector<KnownRun>& runs,
              std::span<const fs::path> places) {
  std::vector<std::string_view> ids;
  for (const KnownRun& run : runs) ids.push_back(run.id);
  const std::string newest = runs.empty() ? "" : fmt::format(" (the newest is {})", runs.back().id);
  return {Errc::usage,
          fmt::format("there is no run '{}' below {}{}{}", named,
                      listed({places.begin(), places.end()}), did_you_mean(named, ids), newest)};
}

}  // namespace

Result<fs::path> find_run(std::string_view named, std::span<const fs::path> places) {
  if (named.find('/') != std::string_view::npos || named == "." || named == "..") {
    if (is_run(named)) return fs::path(named);
    return Error{Errc::usage, fmt::format("{} is no run directory: it has neither job.json nor "
                                          "events.jsonl",
                                          named)};
  }
  std::vector<KnownRun> runs = known_runs(places);
  if (named.empty()) {
    if (!runs.empty()) return runs.back().directory;
    return Error{Errc::usage, fmt::format("no run is recorded below {}",
                                          listed({places.begin(), places.end()}))};
  }
  std::vector<KnownRun> matching;
  for (const KnownRun& run : runs) {
    if (run.id == named) return run.directory;
    if (run.id.find(named) != std::string::npos) matching.push_back(run);
  }
  if (matching.size() == 1) return matching.front().directory;
  if (!matching.empty()) return ambiguous(named, matching);
  if (is_run(named)) return fs::path(named);
  return unknown(named, runs, places);
}

}  // namespace safelaunch::report
