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

/// The first call of a rank in its world that needs other ranks, as its hook tells it: a
/// collective, a message, or the making of a group.
struct FirstCall {
  std::string operation;        ///< "all_reduce", "recv", "new_group"
  std::string group;            ///< its name
  std::vector<Rank> members{};  ///< of the group; empty: all ranks of the world
  /// The other end of a message; the one rank from which a broadcast comes, or to which all send.
  std::optional<Rank> peer{};
  std::int64_t tag = 0;  ///< of a message from the CPU's memory: both ends must give the same
  bool blocks = false;   ///< the rank does nothing else until it is finished
  bool open = true;      ///< it is not finished
  bool operator==(const FirstCall&) const = default;
};

/// "allreduce_", as torch's dispatcher has it, is all_reduce to people.
[[nodiscard]] std::string operation_for_people(std::string_view name);

/// All that is known of the calls of one rank.
struct RankCollectives {
  std::optional<FirstCall> first{};  ///< none: its hook has told of none
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
  /// They can never meet: different operations under one number, one group with other members on
  /// other ranks, or ranks that wait for each other in a circle. Empty: nothing proves that.
  std::string contradiction;
  bool of_messages = false;    ///< the contradiction is in send and recv alone
  std::vector<Rank> together;  ///< the ranks that are in one and the same collective; empty: they
                               ///< are in several, or in none
  /// Ranks that never called what the others of their group are in, and wait in no collective
  /// themselves.
  std::vector<Rank> behind;
  std::string behind_what;  ///< "rank 1 never called all_reduce, collective 1 of group 0"
  std::string together_in;  ///< "ranks 0 1 wait in all_reduce, collective 7 of group 0"
  std::string store_waits;  ///< "ranks 0 and 2 wait in the store (TCPStore__wait)"
};

/// The groups that each rank has made or wants to make, by their names: empty members are all
/// ranks.
using GroupsOfRanks = std::map<Rank, std::map<std::string, std::vector<Rank>>>;

/// "group 1 is ranks 0 3 on ranks 0 3, but ranks 1 2 on ranks 1 2": the first group that ranks have
/// given different members. Empty: they agree.
[[nodiscard]] std::string groups_that_differ(const GroupsOfRanks& groups);

/// Only what was seen counts: a rank that has not answered is no evidence.
[[nodiscard]] CollectivesCompared compare(const std::map<Rank, RankCollectives>& ranks);

}  // namespace safelaunch::watch
