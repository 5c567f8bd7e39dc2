#pragma once

#include <cstdint>
#include <map>

#include "safelaunch/base/event.h"

/// The words of torch's flight recorder and wait counters on ranks that hang, and our conclusions.
namespace safelaunch::watch {

/// The numbers of the last collectives of a process group; -1: none yet.
struct GroupCounters {
  std::int64_t enqueued = 0;
  std::int64_t started = 0;  ///< gloo never tells
  std::int64_t completed = 0;
};

/// A collective as the flight recorder of one rank keeps it.
struct CollectiveSeen {
  enum class State { enqueued, started, finished };
  std::string group;  ///< its name, the same on all ranks; "0" is torch's default group
  /// Its number in its group, from 1 on. Collectives that meet have the same number on all ranks.
  std::int64_t number = 0;
  std::string operation;  ///< "all_reduce"
  State state = State::enqueued;
};

/// The answer of one rank's hook.
struct RankCollectives {
  bool told = false;  ///< it has answered which collectives it called; its counters alone are none
  std::map<std::string, GroupCounters> groups;
  std::vector<CollectiveSeen> last;
  /// The members of the groups that the rank is in.
  std::map<std::string, std::vector<Rank>> members;
  std::vector<std::string> waits;  ///< "TCPStore__wait": where a thread waits now
};

/// "all_reduce, collective 1 of group 0, enqueued; waits in TCPStore__wait".
[[nodiscard]] std::string describe(const RankCollectives& rank);

/// The conclusions from the answers of all ranks. Sentences without their full stops.
struct CollectivesCompared {
  std::vector<Rank> waiting;  ///< the ranks that wait in a collective that they have called
  /// They can never meet: different operations under one number, or ranks that wait in different
  /// groups for each other. Empty: nothing proves that.
  std::string contradiction;
  /// Ranks that never called what the others of their group are in, and wait in no collective
  /// themselves.
  std::vector<Rank> behind;
  std::string behind_what;  ///< "rank 1 never called all_reduce, collective 1 of group 0"
  std::string together;     ///< "ranks 0 1 wait in all_reduce, collective 7 of group 0"
  std::string store_waits;  ///< "ranks 0 and 2 wait in the store (TCPStore__wait)"
};

/// Only what was seen counts: a rank that has not answered is no evidence.
[[nodiscard]] CollectivesCompared compare(const std::map<Rank, RankCollectives>& ranks);

}  // namespace safelaunch::watch
