#pragma once

#include <map>
#include <set>
#include <string>

#include "safelaunch/base/event.h"
#include "safelaunch/host/sockets.h"

/// The stores, "host:port", at which ranks meet or wait for each other.
namespace safelaunch::ranks {

/// What this host showed of the stores when its ranks were found to wait.
struct StoresHere {
  std::string unopened;             ///< a store of this host at which nobody listened
  std::set<std::string> elsewhere;  ///< those on no address, and no name, of this host
};

/// `knocking`: the stores that ranks cannot get into.
[[nodiscard]] StoresHere stores_here(const std::map<Rank, std::string>& stores,
                                     const std::map<Rank, std::string>& knocking,
                                     const host::SocketTable& sockets);

/// "the ranks were given different stores: rank 0 a:1, rank 1 a:2"; empty where they have one.
[[nodiscard]] std::string different_stores(const std::map<Rank, std::string>& stores);

/// Whether two of these stores, "host:port", cannot be one: one host may have several names, but a
/// port is a number. Port 0 is none yet.
[[nodiscard]] bool ports_differ(const std::map<Rank, std::string>& stores);

}  // namespace safelaunch::ranks
