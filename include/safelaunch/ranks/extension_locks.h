#pragma once

#include <set>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/ranks/rank_questions.h"

namespace safelaunch::ranks {

/// The locks of torch's extensions that the ranks of a job may wait for.
struct WaitedLocks {
  std::string words;  ///< the locks' owners and ages; empty: there are no locks
  std::string help;   ///< what to do about one that is kept; may be empty
  std::set<std::string> paths;
  std::vector<clean::StaleFile> left;  ///< those that nobody holds and nobody builds: they may go
};

/// Whether a build has ended before: the folder of its lock holds the library that torch loads.
/// If it holds none, a rank that has waited for the lock goes on to load a file that is not there.
[[nodiscard]] bool has_built_extension(const std::string& lock);

/// How ranks wait, in torch, until another process has built an extension.
[[nodiscard]] BuildWait waits_for_a_build(const RankAnswers& answers);

/// Looks for the locks that a job with this environment may wait for. Finds none where only a file
/// server knows of them. Who waits until a lock is free waits for none that nobody holds.
[[nodiscard]] WaitedLocks find_waited_locks(const Environment& environment,
                                            settings::CleanPolicy policy, BuildWait wait);

/// The locks that were removed under the ranks which waited for them.
struct RemovedLocks {
  std::vector<std::string> lines;  ///< what was done, a line each
  /// A lock of a build that had been cut off before it made a library. A rank that has waited for
  /// it finds no library, and only the next start builds it. Empty: there is none.
  std::string cut_off;
};

/// Removes the locks as far as the policy allows.
[[nodiscard]] RemovedLocks remove_waited_locks(const std::vector<clean::StaleFile>& left,
                                               settings::CleanPolicy policy);

}  // namespace safelaunch::ranks
