#include "safelaunch/host/sockets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/time.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"
#include "sock_diag.h"

namespace safelaunch::host {
namespace {

std::vector<Socket> read_proc_net(const SocketQuery& query) {
  std::vector<Socket> sockets;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto text = read_whole(path);
    if (!text) continue;
    auto found = parse_proc_net_tcp(*text, query);
    std::move(found.begin(), found.end(), std::back_inserter(sockets));
  }
  return sockets;
}

std::vector<Socket> find_sockets(const SocketQuery& query) {
  auto sockets = ask_sock_diag(query);
  return sockets ? std::move(*sockets) : read_proc_net(query);
}

}  // namespace

const char* name(SocketState state) {
  switch (state) {
    case SocketState::listening: return "listening";
    case SocketState::bound: return "bound, not listening";
    case SocketState::connected: return "connected";
    case SocketState::time_wait: return "closing";
  }
  return "";
}

std::vector<Socket> KernelSockets::on_port(std::uint16_t port) const {
  return find_sockets({.local_port = port});
}

std::vector<Socket> KernelSockets::to_port(std::uint16_t port) const {
  return find_sockets({.remote_port = port});
}

std::vector<Socket> KernelSockets::listening() const {
  return find_sockets({.only = SocketQuery::Only::listening});
}

std::vector<Socket> KernelSockets::established() const {
  return find_sockets({.only = SocketQuery::Only::established});
}

SocketTraffic socket_traffic() {
  SocketTraffic traffic;
  if (const auto sockets =
          ask_sock_diag({.only = SocketQuery::Only::established, .with_bytes = true}))
    for (const Socket& socket : *sockets) traffic[socket.inode] = socket.bytes;
  return traffic;
}

namespace {

/// The inode of the socket that a descriptor is ("socket:[4711]"), 0 for anything else.
std::uint64_t socket_inode(int pid, int fd) {
  std::array<char, 64> target;
  const auto path = fmt::format("/proc/{}/fd/{}", pid, fd);
  const auto size = ::readlink(path.c_str(), target.data(), target.size());
  constexpr std::string_view kPrefix = "socket:[";
  const std::string_view text(target.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return text.starts_with(kPrefix) ? number_in(text.substr(kPrefix.size())) : 0;
}

PortHolder known_holder(const Socket& socket, const ProcessFacts& facts) {
  return {socket.local_port, socket.state,         facts.id.pid,
          facts.uid,         user_name(facts.uid), short_command_of(facts.id.pid, facts.comm),
          facts.age};
}

PortHolder unknown_holder(const Socket& socket) {
  return {socket.local_port, socket.state, 0, socket.uid, user_name(socket.uid), "", Duration{}};
}

/// Those that hold one socket: several after a fork, unknown where none may be looked at.
std::vector<PortHolder> holders_of_socket(const Socket& socket, const std::vector<int>& pids) {
  std::vector<PortHolder> holders;
  for (const int pid : pids)
    if (const auto facts = facts_of(pid)) holders.push_back(known_holder(socket, *facts));
  if (holders.empty()) holders.push_back(unknown_holder(socket));
  return holders;
}

}  // namespace

std::map<std::uint64_t, std::vector<int>> owners(std::span<const std::uint64_t> inodes,
                                                 std::span<const int> pids) {
  std::map<std::uint64_t, std::vector<int>> found;
  if (inodes.empty()) return found;
  const auto everybody = pids.empty() ? numbers_in_folder("/proc") : std::vector<int>();
  for (const int pid : pids.empty() ? std::span<const int>(everybody) : pids)
    for (const int fd : numbers_in_folder(ProcPath(pid, "fd").c_str())) {
      const auto inode = socket_inode(pid, fd);
      if (inode == 0 || std::ranges::find(inodes, inode) == inodes.end()) continue;
      auto& holders = found[inode];
      if (std::ranges::find(holders, pid) == holders.end()) holders.push_back(pid);
    }
  return found;
}

std::vector<PortHolder> holders_of(std::uint16_t port, const SocketTable& table) {
  auto sockets = table.on_port(port);
  // Without an inode nobody holds it: TIME_WAIT, or a connection that no one has accepted yet.
  std::erase_if(sockets, [](const Socket& socket) { return socket.inode == 0; });
  std::ranges::stable_sort(sockets, {}, &Socket::state);
  std::vector<std::uint64_t> inodes;
  for (const auto& socket : sockets) inodes.push_back(socket.inode);
  auto pids = owners(inodes);

  std::vector<PortHolder> holders;
  for (const auto& socket : sockets)
    for (auto& holder : holders_of_socket(socket, pids[socket.inode])) {
      const auto same = [&](const PortHolder& known) {
        return known.pid == holder.pid && known.uid == holder.uid;
      };
      if (std::ranges::none_of(holders, same)) holders.push_back(std::move(holder));
    }
  return holders;
}

std::string describe(const PortHolder& holder) {
  if (holder.pid == 0)
    return fmt::format("a process of user {} that we may not see, {}", holder.user,
                       name(holder.state));
  return fmt::format("pid {} ({}) of user {}, {} for {}", holder.pid, holder.command, holder.user,
                     name(holder.state), rough_age(holder.age));
}

}  // namespace safelaunch::host
