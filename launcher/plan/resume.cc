#include "safelaunch/plan/resume.h"

#include <glob.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <ranges>

#include "safelaunch/base/format.h"

namespace safelaunch::plan {
namespace {

namespace fs = std::filesystem;
using FileTime = fs::file_time_type;

/// A checkpoint that was written this shortly before the training failed may be cut off.
constexpr Duration kUntouched = std::chrono::seconds(5);

/// Unless the first is longer.
constexpr Duration kLongestPause = std::chrono::minutes(10);

/// No checkpoint has more files; a pattern that finds a whole home must not keep us busy.
constexpr std::size_t kMostFiles = 100'000;

std::optional<FileTime> written_at(const fs::path& file) {
  std::error_code none;
  if (!fs::is_regular_file(file, none) || fs::file_size(file, none) == 0 || none)
    return std::nullopt;
  const FileTime at = fs::last_write_time(file, none);
  return none ? std::nullopt : std::optional(at);
}

std::optional<FileTime> newest_below(const fs::path& folder) {
  std::optional<FileTime> newest;
  std::size_t seen = 0;
  std::error_code none;
  fs::recursive_directory_iterator file(folder, none);
  for (; !none && file != fs::recursive_directory_iterator() && ++seen < kMostFiles;
       file.increment(none))
    newest = std::max(newest, written_at(file->path()));
  return newest;
}

std::vector<std::string> found_by(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), GLOB_NOSORT | GLOB_TILDE, nullptr, &found) == 0)
    paths.assign(found.gl_pathv,
                 std::next(found.gl_pathv, static_cast<std::ptrdiff_t>(found.gl_pathc)));
  ::globfree(&found);
  return paths;
}

/// Before the start with this number, from 1 on.
Duration pause_before(int start, const profile::Retry& pace) {
  Duration pause = pace.backoff;
  for (int i = 1; i < start && pause < kLongestPause; ++i) pause *= pace.factor;
  return std::min(pause, std::max(kLongestPause, pace.backoff));
}

Checkpoints new_ones(const FailedTraining& training) {
  Checkpoints fresh;
  if (const auto& seen = training.checkpoints)
    std::ranges::set_difference(seen->now, seen->before, std::inserter(fresh, fresh.end()));
  return fresh;
}

/// A file system's clock may advance every ten milliseconds only; among files of the same time the
/// one with the higher number is the newer.
bool is_older(const Checkpoints::value_type& one, const Checkpoints::value_type& other) {
  if (one.second != other.second) return one.second < other.second;
  return ::strverscmp(one.first.c_str(), other.first.c_str()) < 0;
}

NextStep not_again(std::string why) {
  NextStep step;
  step.why = std::move(why);
  return step;
}

}  // namespace

Checkpoints find_checkpoints(const std::string& pattern) {
  Checkpoints found;
  for (const std::string& one : found_by(pattern)) {
    std::error_code none;
    if (const auto at = fs::is_directory(one, none) ? newest_below(one) : written_at(one))
      found.emplace(one, *at);
  }
  return found;
}

const std::string& pattern_of(const profile::Resume& resume) {
  return resume.marker.empty() ? resume.newer : resume.marker;
}

bool has_new_checkpoint(const FailedTraining& training) {
  return !new_ones(training).empty();
}

NextStep resume_step(const profile::Profile& profile, const profile::Resume& resume,
                     const FailedTraining& training) {
  if (!training.checkpoints) return not_again("the disk of the checkpoints does not answer");
  const Checkpoints fresh = new_ones(training);
  const bool is_new = !fresh.empty();
  const Checkpoints& candidates = is_new ? fresh : training.checkpoints->now;
  if (candidates.empty())
    return not_again(fmt::format("no checkpoint is there ({})", pattern_of(resume)));
  const auto& [path, written] = *std::ranges::max_element(candidates, is_older);
  const Duration age = std::max(
      Duration::zero(), std::chrono::duration_cast<Duration>(training.checkpoints->at - written));
  if (!is_new && !training.starts)
    return not_again(
        fmt::format("no checkpoint was finished since the start; the newest, {}, is {} old", path,
                    describe_duration(age)));
  if (resume.marker.empty() && age < training.failed + kUntouched)
    return not_again(
        fmt::format("{} was written within {} before the training failed, so it may be "
                    "cut off (a marker tells that it is whole: docs/resume.md)",
                    path, describe_duration(kUntouched)));
  const int starts = is_new ? 0 : *training.starts;
  if (starts >= profile.restarts)
    return not_again(fmt::format("{} start{} from {} brought no new checkpoint", starts,
                                 starts == 1 ? "" : "s", path));
  NextStep step;
  step.profile = profile;
  step.resumes = true;
  step.checkpoint = path;
  if (starts > 0) step.wait = pause_before(starts, {});
  step.why = fmt::format("from {}, written {} ago", path, describe_duration(age));
  if (age < training.others_see_after) {
    step.wait = std::max(step.wait, training.others_see_after - age);
    step.why +=
        fmt::format("; in {}, since other nodes may not see it yet", describe_duration(step.wait));
  }
  return step;
}

NextStep retry_step(const profile::Profile& profile, int retries) {
  const profile::Retry& retry = *profile.retry;
  if (retries >= retry.times)
    return not_again(fmt::format("{} start{} with the same settings did not help", retries,
                                 retries == 1 ? "" : "s"));
  NextStep step;
  step.profile = profile;
  step.resumes = true;
  step.wait = pause_before(retries + 1, retry);
  step.why = fmt::format("with the same settings in {} ({} of {})", describe_duration(step.wait),
                         retries + 1, retry.times);
  return step;
}

profile::Profile resumed(profile::Profile profile, const profile::Resume& resume) {
  std::ranges::copy(resume.append, std::back_inserter(profile.args.append));
  return profile;
}

profile::Profile with_training_of(const profile::Profile& first, profile::Profile later) {
  const profile::Profile silent;
  const bool speaks = later.timeouts.stall != silent.timeouts.stall ||
                      later.on_stall != silent.on_stall || later.resume || later.retry ||
                      later.restarts != silent.restarts;
  if (speaks) return later;
  later.timeouts.stall = first.timeouts.stall;
  later.on_stall = first.on_stall;
  later.resume = first.resume;
  later.retry = first.retry;
  later.restarts = first.restarts;
  return later;
}

}  // namespace safelaunch::plan
