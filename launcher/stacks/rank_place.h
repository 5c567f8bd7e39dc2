#pragma once

#include <set>

#include "safelaunch/host/activity.h"
#include "safelaunch/host/sockets.h"
#include "safelaunch/stacks/place.h"
#include "safelaunch/stacks/question.h"

/// Makes the places of ranks and stores out of what was read of them. Values only: look.cc reads.
namespace safelaunch::stacks {

/// The place as far as the safelaunch that runs the rank has told it.
[[nodiscard]] RankPlace place_of(const KnownRank& known);

/// Adds what the kernel tells: two samples of the process, some time apart. They are empty where it
/// has ended before or between them.
void tell_doing(RankPlace& place, const host::TreeSample& before, const host::TreeSample& after);

/// The address at which ranks meet, taken apart.
struct Meeting {
  std::string host;
  std::uint16_t port = 0;  ///< 0: the text has none
};
/// Reads "HOST:PORT"; the host may be an IPv6 address.
[[nodiscard]] Meeting meeting_at(const std::string& master);

/// The facts of this host's sockets on a store.
struct StoreSeen {
  bool leads_here = false;                  ///< its address is one of this host
  std::vector<host::PortHolder> holders{};  ///< the processes that hold its port here
  std::set<int> connected{};                ///< pids with a connection to its port
};
[[nodiscard]] StorePlace store_of(const std::string& master, const StoreSeen& seen,
                                  const std::vector<RankPlace>& ranks);

}  // namespace safelaunch::stacks
