#include "safelaunch/report/kept_runs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "safelaunch/report/run_directory.h"

// Old runs are removed at the end of each run, so the work is bounded: first a look at names alone,
// then, only if runs may be beyond the limits, all of them are read and runs_to_remove() decides.
// Nothing is removed that is not provably a run of ours, and nothing that still runs.
namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;
using FileTime = fs::file_time_type;

// The user waits for this at the end of a run.
constexpr std::chrono::seconds kTimeToRemove{1};

FileTime written(const fs::path& file) {
  std::error_code error;
  const FileTime time = fs::last_write_time(file, error);
  return error ? FileTime::min() : time;
}

/// Whether a name has the form of a run id: 20261122-153012-a1b2c3.
bool is_run_id(std::string_view name) {
  constexpr std::string_view kForm = "dddddddd-dddddd-xxxxxx";
  return std::ranges::equal(name, kForm, [](char c, char form) {
    const bool digit = c >= '0' && c <= '9';
    if (form == 'd') return digit;
    if (form == 'x') return digit || (c >= 'a' && c <= 'f');
    return c == form;
  });
}

/// Whether the record in a folder of ours gives the name of the folder as its run id.
bool is_provably_a_run(const fs::path& folder) {
  return is_folder_of_ours(folder) && recorded_id(folder) == folder.filename().native();
}

/// The last time at which a file of the run, or of one of its attempts, was written.
FileTime last_written(const fs::path& run) {
  FileTime last = FileTime::min();
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run, none)) {
    last = std::max(last, written(entry.path()));
    if (!entry.is_directory(none) || entry.is_symlink(none)) continue;
    for (const auto& file : fs::directory_iterator(entry.path(), none))
      last = std::max(last, written(file.path()));
  }
  return last;
}

/// Removes job.json last: without it, nothing would show that the rest is a run of ours.
void remove_run(const fs::path& entry) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(entry, error))) {
    fs::remove(entry, error);
    return;
  }
  std::vector<fs::path> content;
  for (const auto& file : fs::directory_iterator(entry, error)) content.push_back(file.path());
  for (const fs::path& path : content) {
    if (path.filename() != "job.json") fs::remove_all(path, error);
    if (error) return;
  }
  fs::remove_all(entry, error);
}

bool leads_nowhere(const fs::path& link) {
  std::error_code error;
  return recorded_id(fs::read_symlink(link, error)) != link.filename().native();
}

/// Whether a name is that of an installed hook or plugin: hook-0123456789abcdef.
bool is_installation(std::string_view name) {
  const std::size_t dash = name.find('-');
  const std::string_view hash = name.substr(std::min(dash + 1, name.size()));
  return (name.starts_with("hook-") || name.starts_with("plugin-")) && hash.size() == 16 &&
         hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<fs::path> entries_with_ids(const fs::path& place) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(place, none))
    if (is_run_id(entry.path().filename().native())) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

/// Whether runs may be beyond the limits, by their names alone, so that a run with nothing to
/// remove pays for nothing. To read all kept runs costs milliseconds; a tenth more than the limit
/// may gather before they are read again.
bool may_be_beyond(const std::vector<fs::path>& entries, KeepLimits limits) {
  if (entries.empty()) return false;
  if (limits.runs > 0 && std::ssize(entries) > limits.runs + limits.runs / 10) return true;
  return limits.days > 0 &&
         FileTime::clock::now() - written(entries.front()) > std::chrono::days(limits.days);
}

std::optional<KeptRun> kept_run(const fs::path& entry, const LifeTeller& life_of) {
  std::error_code error;
  const bool link = fs::is_symlink(fs::symlink_status(entry, error));
  const fs::path folder = link ? fs::read_symlink(entry, error) : entry;
  if (!link && !is_provably_a_run(folder)) return std::nullopt;
  return KeptRun{entry, last_written(folder), life_of(folder)};
}

}  // namespace

std::vector<fs::path> runs_to_remove(std::vector<KeptRun> runs, KeepLimits limits, FileTime now) {
  std::ranges::sort(runs, std::ranges::greater{}, &KeptRun::last);
  std::vector<fs::path> removed;
  int newer = 0;
  for (const KeptRun& run : runs) {
    const bool too_many = limits.runs > 0 && newer++ >= limits.runs;
    const bool too_old = limits.days > 0 && now - run.last > std::chrono::days(limits.days);
    if (run.life == RunLife::running) continue;
    if (too_old || (too_many && run.life == RunLife::over)) removed.push_back(run.entry);
  }
  return removed;
}

void remove_old_runs(const fs::path& place, KeepLimits limits, const LifeTeller& life_of) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeToRemove;
  if (!is_folder_of_ours(place)) return;
  const std::vector<fs::path> entries = entries_with_ids(place);
  if (!may_be_beyond(entries, limits)) return;
  std::vector<KeptRun> runs;
  for (const fs::path& entry : entries) {
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(entry, error)) && leads_nowhere(entry))
      fs::remove(entry, error);
    else if (auto run = kept_run(entry, life_of))
      runs.push_back(std::move(*run));
  }
  for (const fs::path& entry : runs_to_remove(std::move(runs), limits, FileTime::clock::now())) {
    if (std::chrono::steady_clock::now() > deadline) return;
    remove_run(entry);
  }
}

void remove_old_installations(const fs::path& cache, KeepLimits limits,
                              const std::function<FileTime()>& oldest_running) {
  if (limits.days <= 0 || !is_folder_of_ours(cache)) return;
  const FileTime long_ago = FileTime::clock::now() - std::chrono::days(limits.days);
  std::vector<fs::path> unused;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache, error))
    if (is_installation(entry.path().filename().native()) && is_folder_of_ours(entry.path()) &&
        written(entry.path()) < long_ago)
      unused.push_back(entry.path());
  if (unused.empty()) return;
  const FileTime running_since = oldest_running();
  for (const fs::path& folder : unused)
    if (written(folder) < running_since) fs::remove_all(folder, error);
}

}  // namespace safelaunch::report
