#include "safelaunch/host/sockets.h"

#include "proc_file.h"
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

}  // namespace safelaunch::host
