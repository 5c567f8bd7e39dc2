#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/nccl/watch.h"
#include "safelaunch/ranks/rank_questions.h"
#include "safelaunch/ranks/stores.h"
#include "safelaunch/watch/collectives.h"
#include "safelaunch/watch/hook_message.h"

namespace safelaunch::ranks {

/// The news of the ranks that goes into an attempt's record. It is bounded: a process of the job
/// cannot make safelaunch remember ever more, however much it says.
struct RanksSeen {
  int world_size = 0;             ///< the number of ranks in the job; 0: no rank was seen
  bool began = false;             ///< some rank has come to torch, JAX or NCCL
  bool heard = false;             ///< the hook of some rank has spoken
  std::map<int, Rank> pids;       ///< the processes that were seen as ranks, and their wrappers
  std::vector<RankExited> exits;  ///< the ends of ranks, in order, until the attempt was stopped
  std::vector<RankExited> late_exits;  ///< the ends of ranks, in order, while it was being stopped
  std::vector<RankRaised> raised;      ///< the exceptions of ranks, in order
  /// Where ranks were in their collectives when an exception of communication ended them.
  std::map<Rank, watch::RankCollectives> came_to;
  /// The first exceptions that ended processes which had not come as a rank: their rank is 0.
  std::vector<RankRaised> raised_nameless;
  std::vector<RankRaised> raised_before;  ///< those of the life before, where a launcher restarted
  RankAnswers answers;                    ///< the ranks' answers to the questions after the verdict
  std::map<Rank, std::string> stores;     ///< "host:port" of the store that a rank was given last
  std::map<Rank, std::string> knocking;   ///< "host:port" of the store that a rank cannot get into
  std::optional<watch::InitFile> init_file{};
  TimePoint init_file_written{};   ///< before the first rank came, at the earliest
  std::set<std::string> backends;  ///< the backends that the ranks gave to init_process_group
  std::map<Rank, watch::FirstCall> calls;  ///< the last call of each rank that its hook has told
  watch::GroupsOfRanks groups;             ///< the groups that ranks make by new_group
  /// The last exception that has ended a thread of a rank, and the last child of it that died.
  std::map<Rank, RankRaised> threads_raised;
  std::map<Rank, watch::HookChildDied> children_died;
  std::set<Rank> finished;  ///< the ranks whose Python came to its end without an exception
  nccl::Record nccl;
  std::string cut_off_build;  ///< see RemovedLocks::cut_off
  StoresHere stores_here;
};

/// Adds an exception to those that were raised. A rank may raise, and its store fail, thousands of
/// times: its first and its last one tell what matters, and no more are kept.
void note_raised(std::vector<RankRaised>& raised, RankRaised news);

/// Notes that a call of a rank begins, waits again, has ended, or is to be forgotten with its
/// world.
void note_call(RanksSeen& seen, Rank rank, const watch::HookCall& told, TimePoint now);

/// The ranks as which each process has spoken.
class NamedRanks {
 public:
  /// False for a rank beyond those that one script may name: it may meet as several ranks one after
  /// the other, but not as ever more.
  [[nodiscard]] bool accept(ProcessId process, Rank rank);

 private:
  std::map<ProcessId, std::set<Rank>> named_;
};

}  // namespace safelaunch::ranks
