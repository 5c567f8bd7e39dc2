#include "safelaunch/ranks/stores.h"

#include <algorithm>
#include <vector>

#include "safelaunch/base/endpoint.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/network.h"

namespace safelaunch::ranks {
namespace {

// A client of torch's store asks again and again at a port that nobody has opened.
std::string unopened_store(const std::map<Rank, std::string>& knocking,
                           const host::SocketTable& sockets) {
  const auto found = std::ranges::find_if(knocking, [&](const auto& one) {
    const auto port = host::port_at_loopback(one.second);
    const auto listens = [](const host::Socket& socket) {
      return socket.state == host::SocketState::listening;
    };
    return port && std::ranges::none_of(sockets.on_port(*port), listens);
  });
  return found == knocking.end() ? std::string() : found->second;
}

std::set<std::string> stores_elsewhere(const std::map<Rank, std::string>& stores) {
  std::set<std::string> elsewhere;
  for (const auto& [rank, store] : stores)
    if (!host::is_this_host(endpoint_host(store))) elsewhere.insert(store);
  return elsewhere;
}

}  // namespace

StoresHere stores_here(const std::map<Rank, std::string>& stores,
                       const std::map<Rank, std::string>& knocking,
                       const host::SocketTable& sockets) {
  return {unopened_store(knocking, sockets), stores_elsewhere(stores)};
}

std::string different_stores(const std::map<Rank, std::string>& stores) {
  std::vector<AlikeRanks> parts;
  for (const auto& [rank, store] : stores)
    if (!store.empty()) add_alike(parts, rank, store);
  if (parts.size() < 2) return {};
  std::vector<std::string> words;
  for (const AlikeRanks& one : parts)
    words.push_back(fmt::format("{} {}", rank_list(one.ranks), one.words));
  return "the ranks were given different stores: " + join(words, ", ");
}

bool ports_differ(const std::map<Rank, std::string>& stores) {
  std::set<std::string> ports;
  for (const auto& [rank, store] : stores)
    if (const std::string port = store.substr(store.rfind(':') + 1); port != "0")
      ports.insert(port);
  return ports.size() > 1;
}

}  // namespace safelaunch::ranks
