#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "safelaunch/host/sockets.h"

namespace safelaunch::host {

/// The TCP sockets that a dump shall hold; 0 in a port means any.
struct SocketQuery {
  enum class Only { all, listening, established };

  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  Only only = Only::all;
  bool with_bytes = false;  ///< ask for Socket::bytes, which costs the kernel more
};

[[nodiscard]] bool matches(const Socket& socket, const SocketQuery& query);

/// One dump of the kernel's TCP sockets, both families, filtered in the kernel; nullopt where
/// netlink is refused (a seccomp filter, gVisor).
[[nodiscard]] std::optional<std::vector<Socket>> ask_sock_diag(const SocketQuery& query);

/// The same from the text of /proc/net/tcp or tcp6, which show no socket that is only bound.
[[nodiscard]] std::vector<Socket> parse_proc_net_tcp(std::string_view text,
                                                     const SocketQuery& query);

/// The bytes sent and received in a tcp_info; 0 where the kernel is too old to count them.
[[nodiscard]] std::uint64_t bytes_in_tcp_info(const void* info, std::size_t size);

/// The meaning of a state number of the kernel (TCP_ESTABLISHED, …) for the port.
[[nodiscard]] SocketState state_of_tcp(unsigned kernel_state);

}  // namespace safelaunch::host
