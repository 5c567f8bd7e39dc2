#pragma once

#include <map>
#include <set>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/process_id.h"

/// What a process of the job can make safelaunch remember is bounded, however much it says.
namespace safelaunch::run {

/// Adds an exception to those that were raised. A rank may raise, and its store fail, thousands of
/// times: its first and its last one tell what matters, and no more are kept.
void note_raised(std::vector<RankRaised>& raised, RankRaised news);

/// The ranks as which each process has spoken.
class NamedRanks {
 public:
  /// False for one that a process names beyond all that a script may be: it may meet as several
  /// ranks one after the other, but not as ever more.
  [[nodiscard]] bool accept(ProcessId process, Rank rank);

 private:
  std::map<ProcessId, std::set<Rank>> named_;
};

}  // namespace safelaunch::run
