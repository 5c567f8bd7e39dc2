#include "safelaunch/report/find_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/nearest.h"

namespace safelaunch {
namespace {

namespace fs = std::filesystem;

struct KnownRun {
  std::string id;
  fs::path directory;
  fs::file_time_type began;
};

// In a folder that all may write to, somebody else may have made what looks like ours.
bool is_ours(const fs::path& place) {
  struct stat facts {};
  return stat(place.c_str(), &facts) == 0 && facts.st_uid == geteuid();
}

bool is_run(const fs::path& directory) {
  std::error_code none;
  return fs::is_regular_file(directory / "job.json", none) ||
         fs::is_regular_file(directory / "events.jsonl", none);
}

// Oldest first. By the time of job.json, which is written once: ids hold the local time, which
// jumps back once a year.
std::vector<KnownRun> known_runs(std::span<const fs::path> places) {
  std::vector<KnownRun> runs;
  std::error_code none;
  for (const fs::path& place : places) {
    if (!is_ours(place)) continue;
    for (const auto& entry : fs::directory_iterator(place, none))
      if (is_run(entry.path()))
        runs.push_back({entry.path().filename().native(), entry.path(),
                        fs::last_write_time(entry.path() / "job.json", none)});
  }
  std::sort(runs.begin(), runs.end(), [](const KnownRun& a, const KnownRun& b) {
    return std::tie(a.began, a.id) < std::tie(b.began, b.id);
  });
  return runs;
}

std::string listed(const std::vector<fs::path>& places) {
  std::string text;
  for (const fs::path& place : places) text += (text.empty() ? "" : " or ") + place.native();
  return text;
}

Error ambiguous(std::string_view named, const std::vector<KnownRun>& runs) {
  constexpr std::size_t kShown = 5;
  std::string text = fmt::format("{} runs begin with '{}':", runs.size(), named);
  for (std::size_t i = 0; i < std::min(kShown, runs.size()); ++i) text += " " + runs[i].id;
  return {Errc::usage, runs.size() > kShown ? text + " …" : text};
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
    if (run.id.starts_with(named)) matching.push_back(run);
  }
  if (matching.size() == 1) return matching.front().directory;
  if (!matching.empty()) return ambiguous(named, matching);
  if (is_run(named)) return fs::path(named);
  return unknown(named, runs, places);
}

}  // namespace safelaunch
