#include "safelaunch/report/kept_runs.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "json.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/report/run_files.h"

// A run is known by its folder, or by a link whose target still holds a run with the name of the
// link. The age of a run is that of its job.json, which is written once. A name is looked up as an
// id first, then as a part of ids, then as a path, so a folder of the same name never hides a run.
// A part with a dash begins where the date, the time or the last word of an id does: "-1" is a slip
// of somebody who means another thing.
namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;

bool is_ours(const fs::path& place) {
  struct stat facts {};
  return ::stat(place.c_str(), &facts) == 0 && facts.st_uid == ::geteuid();
}

// The text of a file in a run directory. A link is refused, for safelaunch makes none there.
std::string record_at(const fs::path& file) {
  constexpr std::size_t kMost = 4U << 20;
  const Result<std::string> text = read_user_file(file, kMost, Links::refused);
  return text ? *text : "";
}

Json job_of(const fs::path& directory) {
  return parse_json<Json>(record_at(directory / "job.json"));
}

/// The run directory behind a link, if it still holds the run with the name of the link.
std::optional<fs::path> behind_link(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  const bool is_there =
      !error && is_ours(target / "job.json") && recorded_id(target) == link.filename().native();
  return is_there ? std::optional(target) : std::nullopt;
}

/// The time at which a run began; without a job.json, which a full disk did not take, that of its
/// first event, or of its folder.
fs::file_time_type beginning_of(const fs::path& directory) {
  for (const fs::path& file : {directory / "job.json", directory / "events.jsonl", directory}) {
    std::error_code error;
    const fs::file_time_type time = fs::last_write_time(file, error);
    if (!error) return time;
  }
  return {};
}

std::optional<KnownRun> run_at(const fs::path& entry) {
  std::error_code none;
  fs::path directory = entry;
  if (fs::is_symlink(fs::symlink_status(entry, none))) {
    const auto target = behind_link(entry);
    if (!target) return std::nullopt;
    directory = *target;
  }
  if (!is_run(directory)) return std::nullopt;
  // The id will not do as its age: it holds the local time, which jumps back once a year.
  return KnownRun{entry.filename().native(), directory, entry, beginning_of(directory)};
}

Duration time_to_last_record(const KnownRun& run) {
  for (const char* file : {"outcome.json", "events.jsonl"}) {
    std::error_code error;
    const auto last = fs::last_write_time(run.directory / file, error);
    if (!error) return std::max(Duration{}, std::chrono::duration_cast<Duration>(last - run.began));
  }
  return {};
}

/// "2026-11-22 14:30", local as the ids are.
std::string local_time(fs::file_time_type at) {
  const auto wall = std::chrono::file_clock::to_sys(at);
  const time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(wall));
  tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const auto size = ::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts);
  return {text.data(), size};
}

std::string listed(const std::vector<fs::path>& places) {
  std::vector<std::string> names;
  for (const fs::path& place : places) names.push_back(place.native());
  return join(names, " or ");
}

bool is_part_of(std::string_view id, std::string_view named) {
  if (named.find('-') == std::string_view::npos) return id.find(named) != std::string_view::npos;
  return !named.starts_with('-') &&
         fmt::format("-{}", id).find(fmt::format("-{}", named)) != std::string::npos;
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

bool is_run(const fs::path& directory) {
  std::error_code none;
  return fs::is_regular_file(directory / "job.json", none) ||
         fs::is_regular_file(directory / "events.jsonl", none);
}

std::string recorded_id(const fs::path& directory) {
  return text_of(job_of(directory), "run");
}

std::vector<KnownRun> known_runs(std::span<const fs::path> places) {
  std::vector<KnownRun> runs;
  std::error_code none;
  for (const fs::path& place : places) {
    if (!is_ours(place)) continue;
    for (const auto& entry : fs::directory_iterator(place, none))
      if (auto run = run_at(entry.path())) runs.push_back(std::move(*run));
  }
  std::ranges::sort(runs, [](const KnownRun& a, const KnownRun& b) {
    return std::tie(a.began, a.id) < std::tie(b.began, b.id);
  });
  return runs;
}

RunLine read_run_line(const KnownRun& run) {
  RunLine line;
  line.run = run;
  const Json job = job_of(run.directory);
  line.command = texts_of(job, "command");
  line.started = text_of(job, "started");
  line.boot_id = text_of(job, "boot_id");
  line.log_dir = text_of(job, "log_dir");
  line.process.pid = number_of(job, "pid").value_or(0);
  line.process.start_ticks = number_of<std::uint64_t>(job, "start_ticks").value_or(0);
  line.took = time_to_last_record(run);
  line.outcome = read_outcome(record_at(run.directory / "outcome.json"));
  if (line.outcome) line.state = RunRecord::State::ended;
  return line;
}

std::string end_in_words(const RunLine& line) {
  if (!line.outcome) return line.state == RunRecord::State::running ? "running" : "cut off";
  const auto& attempts = line.outcome->attempts;
  if (attempts.empty()) return fmt::format("not started, status {}", line.outcome->exit_code);
  const AttemptSummary& last = attempts.back();
  if (!last.failure)
    return attempts.size() == 1 ? "completed" : "completed with " + plain_line(last.profile);
  return fmt::format(
      "{}{}, status {}", end_name(last.failure),
      last.failure->cause.empty() ? "" : " (" + plain_line(last.failure->cause) + ")",
      line.outcome->exit_code);
}

std::string command_in_words(const RunLine& line) {
  return plain_line(shell_line(line.command));
}

std::string render(std::span<const RunLine> lines) {
  if (lines.empty()) return tr("no run is recorded") + "\n";
  std::size_t id_width = 2;
  std::size_t end_width = 3;
  for (const RunLine& line : lines) {
    id_width = std::max(id_width, line.run.id.size());
    end_width = std::max(end_width, columns(tr(end_in_words(line))));
  }
  std::string text = fmt::format("{:<{}}  {:<16}  {:<9}  {:<{}}  {}\n", "ID", id_width,
                                 tr("STARTED"), tr("TOOK"), tr("END"), end_width, tr("COMMAND"));
  for (const RunLine& line : lines) {
    text += fmt::format("{:<{}}  {:<16}  {:<9}  {:<{}}  {}\n", plain_line(line.run.id), id_width,
                        local_time(line.run.began), describe_duration(line.took),
                        tr(end_in_words(line)), end_width, command_in_words(line));
    if (line.run.entry != line.run.directory)
      text += fmt::format("{:<{}}  {}\n", "", id_width,
                          tr("in {}", plain_line(line.run.directory.native())));
  }
  return text;
}

std::string runs_json(std::span<const RunLine> lines) {
  Json json = Json::array();
  for (const RunLine& line : lines) {
    Json entry{{"run", line.run.id},
               {"started", line.started},
               {"seconds", std::chrono::duration<double>(line.took).count()},
               {"state", name(line.state)},
               {"end", end_in_words(line)},
               {"exit_status", line.outcome ? Json(line.outcome->exit_code) : Json(nullptr)},
               {"command", line.command},
               {"directory", line.run.directory.native()}};
    json.push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<fs::path> newest_run(std::span<const fs::path> places) {
  const std::vector<KnownRun> runs = known_runs(places);
  if (!runs.empty()) return runs.back().directory;
  return Error{Errc::usage,
               fmt::format("no run is recorded below {}", listed({places.begin(), places.end()}))};
}

Result<fs::path> find_run(std::string_view named, std::span<const fs::path> places) {
  if (named.empty()) return Error{Errc::usage, "'' names no run (safelaunch runs lists the runs)"};
  if (named.find('/') != std::string_view::npos || named == "." || named == "..") {
    if (is_run(named)) return fs::path(named);
    return Error{Errc::usage, fmt::format("{} is no run directory: it has neither job.json nor "
                                          "events.jsonl",
                                          named)};
  }
  std::vector<KnownRun> runs = known_runs(places);
  std::vector<KnownRun> matching;
  for (const KnownRun& run : runs) {
    if (run.id == named) return run.directory;
    if (is_part_of(run.id, named)) matching.push_back(run);
  }
  if (matching.size() == 1) return matching.front().directory;
  if (!matching.empty()) return ambiguous(named, matching);
  if (is_run(named)) return fs::path(named);
  return unknown(named, runs, places);
}

}  // namespace safelaunch::report
