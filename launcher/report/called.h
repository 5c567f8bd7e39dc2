#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/event.h"

namespace safelaunch::report {

/// One collective of one rank, as it answered.
struct CalledCollective {
  std::string operation;  ///< "all_reduce"
  std::string state;      ///< "enqueued", "started", "finished"
  bool operator==(const CalledCollective&) const = default;
};

/// The place of a collective: what meets has the same on all ranks.
struct CollectivePlace {
  std::string group;
  long number = 0;
  auto operator<=>(const CollectivePlace&) const = default;
};

/// The last collectives of the ranks, with ranks that answered alike in one row.
struct CalledMatrix {
  struct Row {
    std::vector<Rank> ranks;
    std::map<CollectivePlace, CalledCollective> called;
    std::vector<std::string> waits;  ///< "waits in TCPStore__wait"
  };
  std::vector<CollectivePlace> places;
  std::vector<Row> rows;
};

/// Reads the answers, "rank 0: all_reduce, collective 1 of group 0: finished; …". What is no answer
/// is passed over.
[[nodiscard]] CalledMatrix read_called(const std::vector<std::string>& answers);

}  // namespace safelaunch::report
