#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "safelaunch/base/time.h"

namespace safelaunch::host {

/// The use that a TCP socket makes of its local port.
enum class SocketState {
  listening,
  bound,      ///< bound, and neither listening nor connected; Linux shows it from 6.8 on
  connected,  ///< in any state of a connection except TIME_WAIT
  time_wait,  ///< no process holds it any more; it does not hinder a server that sets SO_REUSEADDR
};

[[nodiscard]] const char* name(SocketState state);

/// What has gone over a connection.
struct ConnectionTraffic {
  std::uint64_t bytes = 0;    ///< sent and received
  std::uint64_t answers = 0;  ///< the segments with data that have come
};

/// One TCP socket (v4 or v6) of this network namespace.
struct Socket {
  SocketState state = SocketState::connected;
  std::string local_address;   ///< "127.0.0.1", "::", without the port
  std::string remote_address;  ///< empty unless connected
  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  /// The number under which /proc/PID/fd shows it; 0: nobody holds it any more.
  std::uint64_t inode = 0;
  unsigned uid = 0;
  bool established = false;     ///< it is connected, and neither side has closed it
  ConnectionTraffic traffic{};  ///< only socket_traffic() asks for it
};

/// The TCP sockets of this host. The real one is `KernelSockets`.
class SocketTable {
 public:
  virtual ~SocketTable() = default;

  /// The sockets whose own port is `port`, in every state.
  [[nodiscard]] virtual std::vector<Socket> on_port(std::uint16_t port) const = 0;

  /// The connections to port `port` of whatever host, seen from the connecting side.
  [[nodiscard]] virtual std::vector<Socket> to_port(std::uint16_t port) const = 0;

  /// Everything that listens.
  [[nodiscard]] virtual std::vector<Socket> listening() const = 0;

  /// Every connection whose other side has not closed it.
  [[nodiscard]] virtual std::vector<Socket> established() const = 0;
};

/// Asks the kernel by netlink (sock_diag), and reads /proc/net/tcp and tcp6 where the kernel
/// refuses.
class KernelSockets final : public SocketTable {
 public:
  [[nodiscard]] std::vector<Socket> on_port(std::uint16_t port) const override;
  [[nodiscard]] std::vector<Socket> to_port(std::uint16_t port) const override;
  [[nodiscard]] std::vector<Socket> listening() const override;
  [[nodiscard]] std::vector<Socket> established() const override;
};

/// The traffic of each TCP connection of this network namespace, by inode; empty where the kernel
/// does not tell (netlink is refused).
using SocketTraffic = std::map<std::uint64_t, ConnectionTraffic>;
[[nodiscard]] SocketTraffic socket_traffic();

/// The pids of the processes that hold each of the sockets, by inode. Looks through the descriptors
/// of `pids` only, or of every process where none is named. Other users' descriptors cannot be read
/// without rights.
[[nodiscard]] std::map<std::uint64_t, std::vector<int>> owners(
    std::span<const std::uint64_t> inodes, std::span<const int> pids = {});

/// A process that keeps others off a port; the pid is 0 where it cannot be known (another user's
/// process, another container).
struct PortHolder {
  std::uint16_t port = 0;
  SocketState state = SocketState::listening;
  int pid = 0;
  unsigned uid = 0;
  std::string user;     ///< the user's name, or the number of a user without a name
  std::string command;  ///< the first words of its command line
  Duration age{};       ///< the age of the process
};

/// Everybody who holds the port, listeners first, each process once. A socket in TIME_WAIT does not
/// count.
[[nodiscard]] std::vector<PortHolder> holders_of(std::uint16_t port, const SocketTable& sockets);

/// "pid 71 (python server.py) of user bob, listening for 3h".
[[nodiscard]] std::string describe(const PortHolder& holder);

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

/// The sockets in the text of /proc/net/tcp or tcp6, which show no socket that is only bound.
[[nodiscard]] std::vector<Socket> parse_proc_net_tcp(std::string_view text,
                                                     const SocketQuery& query);

/// The traffic in a tcp_info; 0 where the kernel is too old to count it.
[[nodiscard]] ConnectionTraffic traffic_in_tcp_info(const void* info, std::size_t size);

/// The meaning of a state number of the kernel (TCP_ESTABLISHED, …) for the port.
[[nodiscard]] SocketState state_of_tcp(unsigned kernel_state);

}  // namespace safelaunch::host
