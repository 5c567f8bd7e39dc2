#include "safelaunch/report/kept_runs.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "run_names.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/base/unique_fd.h"
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

UniqueFd open_folder_in(int folder, const std::string& name) {
  return UniqueFd(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> entries_of(int folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, decltype([](DIR* open) { ::closedir(open); })> open(
      ::fdopendir(open_folder_in(folder, ".").release()));
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  return names;
}

bool is_folder(RunName kind) {
  return kind == RunName::folder || kind == RunName::tree;
}

RunName name_in(const fs::path& path, RunName within) {
  return within == RunName::tree ? within : run_name_of(path);
}

/// Whether safelaunch makes all names in a folder at `path` below a run directory. People keep
/// files of their own beside their logs.
bool holds_only_ours(int folder, const fs::path& path, RunName kind) {
  for (const std::string& name : entries_of(folder)) {
    const RunName inner = name_in(path / name, kind);
    if (inner == RunName::foreign) return false;
    const UniqueFd open = open_folder_in(folder, name);
    if (open && !is_folder(inner)) return false;
    if (open && !holds_only_ours(open.get(), path / name, inner)) return false;
  }
  return true;
}

/// Removes all names of ours but job.json: without it nothing would show that the rest is a run of
/// ours. Goes from folder to folder by descriptors, so no link leads it out.
void remove_content(int folder, const fs::path& path, RunName kind) {
  for (const std::string& name : entries_of(folder)) {
    const RunName inner = name_in(path / name, kind);
    if (inner == RunName::foreign || path / name == "job.json") continue;
    const UniqueFd open = is_folder(inner) ? open_folder_in(folder, name) : UniqueFd();
    if (open) remove_content(open.get(), path / name, inner);
    ::unlinkat(folder, name.c_str(), open ? AT_REMOVEDIR : 0);
  }
}

/// Removes a folder of ours with all that is in it; one that holds something else stays as it is.
void remove_folder(const fs::path& path, RunName kind) {
  const UniqueFd above = open_folder(path.parent_path());
  const UniqueFd folder = above ? open_folder_in(above.get(), path.filename()) : UniqueFd();
  if (!folder || !holds_only_ours(folder.get(), {}, kind)) return;
  remove_content(folder.get(), {}, kind);
  if (entries_of(folder.get()) == std::vector<std::string>{"job.json"})
    ::unlinkat(folder.get(), "job.json", 0);
  ::unlinkat(above.get(), path.filename().c_str(), AT_REMOVEDIR);
}

void remove_run(const fs::path& entry) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(entry, error)))
    fs::remove(entry, error);
  else
    remove_folder(entry, RunName::folder);
}

bool leads_nowhere(const fs::path& link) {
  std::error_code error;
  return recorded_id(fs::read_symlink(link, error)) != link.filename().native();
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
    if (written(folder) < running_since) remove_folder(folder, RunName::tree);
}

}  // namespace safelaunch::report
