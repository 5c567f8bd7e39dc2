#include "safelaunch/ranks/extension_locks.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"
#include "safelaunch/clean/leftovers_survey.h"
#include "safelaunch/clean/removal.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/host/mounts.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch::ranks {
namespace {

// The files in which torch waits until another process has built an extension.
constexpr const char* kWaitsForFile = "file_baton.py";
constexpr const char* kBuilds = "torch/utils/cpp_extension.py";
constexpr const char* kWaitsForKernel = "torch/utils/_filelock.py";

// Empty where nobody holds it.
std::string holder_in_words(const host::LeftFile& lock) {
  if (const auto pid = host::locked_by(lock))
    return fmt::format(", held by pid {} ({})", *pid, host::short_command_of(*pid, "?"));
  return host::holder_of(lock) == host::Holder::somebody ? ", somebody has it open" : "";
}

// A lock that nobody can prove to be left, or that the policy keeps.
std::string advice_on(const clean::StaleFile& kept) {
  return kept.claim == clean::Claim::ours
             ? "safelaunch doctor --fix"
             : fmt::format("once no job builds it any more: rm {}", shell_word(kept.file.path));
}

}  // namespace

BuildWait waits_for_a_build(const RankAnswers& answers) {
  BuildWait found = BuildWait::none;
  for (const auto& [rank, stack] : answers.stacks) {
    const auto stands_in = [&](const char* file) {
      return stack.frames.find(file) != std::string::npos;
    };
    if (stands_in(kWaitsForFile)) return BuildWait::until_the_lock_is_gone;
    if (stands_in(kBuilds) && stands_in(kWaitsForKernel)) found = BuildWait::until_the_lock_is_free;
  }
  return found;
}

bool has_built_extension(const std::string& lock) {
  std::error_code none;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(lock).parent_path(), none))
    if (file.path().extension() == ".so") return true;
  return false;
}

WaitedLocks find_waited_locks(const Environment& environment, settings::CleanPolicy policy,
                              BuildWait wait) {
  const std::string folder = host::extensions_folder(environment);
  const std::vector<host::Mount> mounts = host::read_mounts();
  const host::Mount* mount = host::mount_of(mounts, folder);
  if (folder.empty() || mount == nullptr || host::is_network(*mount)) return {};
  std::vector<host::LeftFile> locks = host::extension_locks(folder);
  if (wait == BuildWait::until_the_lock_is_free)
    std::erase_if(locks, [](const auto& lock) { return holder_in_words(lock).empty(); });
  if (locks.empty()) return {};
  const clean::StaleFiles stale =
      clean::survey_files({{}, locks, {}}, host::read_identity(), mounts);
  WaitedLocks found;
  for (const host::LeftFile& lock : locks) {
    const auto known = std::ranges::find(stale.locks, lock, &clean::StaleFile::file);
    const bool is_known = known != stale.locks.end();
    found.words +=
        fmt::format("{}{} ({})", found.words.empty() ? "" : ", ", lock.path,
                    is_known ? known->why : rough_age(lock.age) + " old" + holder_in_words(lock));
    if (is_known && found.help.empty() && !clean::acts_on(policy, known->claim))
      found.help = advice_on(*known);
    found.paths.insert(lock.path);
  }
  found.words = "the lock of an extension's build: " + found.words;
  std::ranges::copy_if(
      stale.locks, std::back_inserter(found.left),
      [&](const clean::StaleFile& lock) { return clean::acts_on(policy, lock.claim); });
  return found;
}

RemovedLocks remove_waited_locks(const std::vector<clean::StaleFile>& left,
                                 settings::CleanPolicy policy) {
  RemovedLocks done;
  for (const clean::Removal& removal : clean::remove({{}, left}, policy)) {
    done.lines.push_back(describe(removal));
    const auto* lock = std::get_if<clean::StaleFile>(&removal.what);
    const bool removed = lock != nullptr && !host::file_at(lock->file.path);
    if (!removed || has_built_extension(lock->file.path)) continue;
    done.cut_off = lock->file.path;
    done.lines.push_back(
        fmt::format("the build behind {} was cut off before it made a library. A rank that waited "
                    "for it may fail with ImportError; the next start builds it",
                    lock->file.path));
  }
  return done;
}

}  // namespace safelaunch::ranks
