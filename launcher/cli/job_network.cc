#include "job_network.h"

#include <algorithm>

namespace safelaunch::cli {
namespace {

std::vector<host::Socket> connections_of(std::span<const int> pids) {
  std::vector<host::Socket> all = host::KernelSockets().established();
  std::vector<std::uint64_t> inodes;
  for (const host::Socket& socket : all)
    if (socket.inode != 0) inodes.push_back(socket.inode);
  if (pids.empty() || inodes.empty()) return {};
  const auto held = host::owners(inodes, pids);
  std::erase_if(all, [&](const host::Socket& one) { return !held.contains(one.inode); });
  return all;
}

/// An IPv4 address is an IPv6 one where the socket is.
std::string_view unmapped(std::string_view address) {
  constexpr std::string_view kMapped = "::ffff:";
  return address.starts_with(kMapped) ? address.substr(kMapped.size()) : address;
}

std::uint64_t a_second(std::uint64_t before, std::uint64_t now,
                       std::chrono::duration<double> time) {
  if (now < before || time.count() <= 0) return 0;  // the interface was made anew
  return static_cast<std::uint64_t>(static_cast<double>(now - before) / time.count());
}

}  // namespace

std::set<std::string> interfaces_used(std::span<const host::Socket> connections,
                                      std::span<const host::NetworkInterface> interfaces) {
  const auto interface_with = [&](std::string_view address) {
    return std::ranges::find_if(interfaces, [&](const host::NetworkInterface& one) {
      return std::ranges::find(one.addresses, unmapped(address)) != one.addresses.end();
    });
  };
  const auto loopback = std::ranges::find_if(interfaces, &host::NetworkInterface::loopback);
  std::set<std::string> used;
  for (const host::Socket& one : connections) {
    const bool inner = interface_with(one.remote_address) != interfaces.end();
    const auto found = inner ? loopback : interface_with(one.local_address);
    if (found != interfaces.end()) used.insert(found->name);
  }
  return used;
}

void JobNetwork::look(std::span<const int> pids, TimePoint now) {
  const auto before = std::exchange(before_, host::interface_bytes());
  const auto time = now - std::exchange(at_, now);
  figures_.clear();
  if (before.empty()) return;
  for (const std::string& name : interfaces_used(connections_of(pids), host::network_interfaces()))
    if (const auto then = before.find(name); then != before.end() && before_.contains(name))
      figures_.push_back({name, a_second(then->second.in, before_[name].in, time),
                          a_second(then->second.out, before_[name].out, time)});
}

}  // namespace safelaunch::cli
