#include "safelaunch/clean/stale_file.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "safelaunch/base/format.h"

// A file that is in use or young is passed over. For a segment, the record of a run that has ended
// makes the claim `ours`, and a name that jobs give makes it `named`. A lock is ours only if no
// process, no compiler and no other host can need it. Anything that could not be seen keeps a file
// from being removed.
namespace safelaunch::clean {
namespace {

bool is_among(const std::vector<std::string>& paths, const host::LeftFile& file) {
  return std::ranges::find(paths, file.path) != paths.end();
}

StaleFile unproven(const host::LeftFile& file, std::string why) {
  return {file, Claim::unproven, std::move(why)};
}

StaleFile named(const host::LeftFile& file, const std::string& why) {
  return {file, Claim::named, why + "; `safelaunch clean --all-mine` removes it"};
}

/// Names the programs that may come back to a segment that no process has open now; empty where
/// none may. Python opens its segments by name, long after they were made.
std::string who_may_know(const host::LeftFile& file, const FileWitness& witness) {
  if (host::maker_of(file.path) != host::SegmentMaker::python) return {};
  if (!witness.sees_all_processes) return "a process outside of this container may know its name";
  if (witness.use.unreadable > 0)
    return fmt::format("{} processes of yours cannot be looked into", witness.use.unreadable);
  if (file.age <= witness.use.oldest_python)
    return "a Python process of yours is older than it and may know its name";
  return {};
}

std::optional<StaleFile> judge_recorded(const host::LeftFile& file, const FileWitness& witness,
                                        const host::SegmentRecord& record) {
  if (record.owner == host::Life::running) return std::nullopt;
  if (record.owner == host::Life::hidden)
    return named(
        file, fmt::format("safelaunch run {} made it, and may still run: /proc hides its process "
                          "from here",
                          record.run));
  if (const std::string who = who_may_know(file, witness); !who.empty()) return named(file, who);
  return StaleFile{
      file, Claim::ours,
      fmt::format(
          "left by safelaunch run {}, which is over; written {} ago, and nobody has it open",
          record.run, rough_age(file.age))};
}

std::optional<StaleFile> judge_segment(const host::LeftFile& file, const FileWitness& witness,
                                       std::span<const host::SegmentRecord> records) {
  const host::SegmentMaker maker = host::maker_of(file.path);
  if (maker == host::SegmentMaker::unknown || file.uid != witness.uid) return std::nullopt;
  if (is_among(witness.use.used, file) || file.age < kFileSettled) return std::nullopt;
  if (is_among(witness.use.untold, file))
    return unproven(file, "the kernel does not tell whether somebody has it open");
  if (maker == host::SegmentMaker::server)
    return unproven(file, "its name alone does not tell who made it");
  const auto record = std::ranges::find_if(
      records, [&](const host::SegmentRecord& one) { return host::is_of(one, file); });
  if (record != records.end()) return judge_recorded(file, witness, *record);
  return named(file, "nobody has it open, but no run of safelaunch has recorded it as its own");
}

std::optional<StaleFile> judge_lock(const host::LeftFile& lock, const FileWitness& witness,
                                    std::span<const host::Mount> mounts) {
  if (is_among(witness.use.used, lock) || lock.age < kFileSettled) return std::nullopt;
  const host::Mount* mount = host::mount_of(mounts, lock.path);
  if (lock.uid != witness.uid) return unproven(lock, "it belongs to another user");
  if (lock.folder_uid != witness.uid) return unproven(lock, "its folder belongs to another user");
  if (mount == nullptr || host::is_network(*mount))
    return unproven(lock, "it is on a network file system, and another host may hold it");
  if (is_among(witness.use.untold, lock))
    return unproven(lock, "the kernel does not tell whether a build holds it");
  if (!witness.use.compiler.empty())
    return unproven(lock, fmt::format("made {} ago; your compiler {} may be building it",
                                      rough_age(lock.age), witness.use.compiler));
  if (witness.use.unreadable > 0)
    return unproven(
        lock, fmt::format("{} processes of yours cannot be looked into", witness.use.unreadable));
  return StaleFile{
      lock, Claim::ours,
      fmt::format("made {} ago; nobody holds it, no compiler runs, and nobody works in its folder",
                  rough_age(lock.age))};
}

}  // namespace

std::vector<StaleFile> stale_segments(std::span<const host::LeftFile> files,
                                      const FileWitness& witness,
                                      std::span<const host::SegmentRecord> records) {
  std::vector<StaleFile> stale;
  for (const host::LeftFile& file : files)
    if (auto found = judge_segment(file, witness, records)) stale.push_back(std::move(*found));
  return stale;
}

std::vector<StaleFile> stale_locks(std::span<const host::LeftFile> locks,
                                   const FileWitness& witness,
                                   std::span<const host::Mount> mounts) {
  std::vector<StaleFile> stale;
  for (const host::LeftFile& lock : locks)
    if (auto found = judge_lock(lock, witness, mounts)) stale.push_back(std::move(*found));
  return stale;
}

Result<void> remove_stale(const StaleFile& stale) {
  if (const Result<void> same = host::still_the_same(stale.file); !same) return same;
  if (host::holder_of(stale.file) != host::Holder::nobody)
    return Error{Errc::os, "left alone: a process has opened it"};
  if (const Result<void> same = host::still_the_same(stale.file); !same) return same;
  if (!host::remove_from_folder(stale.file))
    return Error{Errc::os,
                 fmt::format("cannot be removed ({})", std::generic_category().message(errno))};
  return {};
}

std::string describe(const StaleFile& stale) {
  return fmt::format("{} ({}): {}", stale.file.path, rough_size(stale.file.bytes), stale.why);
}

}  // namespace safelaunch::clean
