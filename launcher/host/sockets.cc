#include "safelaunch/host/sockets.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "safelaunch/base/format.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"

/// Netlink is asked first: it filters in the kernel and shows sockets that are only bound. Where it
/// is refused, the tables of /proc tell of the rest. The kernel gives a socket's inode and user but
/// no process, so the holders are found by the descriptors of all processes.
namespace safelaunch::host {
namespace {

/// From Linux 6.8 a dump that asks for this bit holds sockets that are bound and nothing more;
/// older kernels ignore it. The header of Debian 12 has no name for it.
constexpr unsigned kBoundInactive = 13;

constexpr std::uint32_t states(SocketQuery::Only only) {
  switch (only) {
    case SocketQuery::Only::listening: return 1U << TCP_LISTEN;
    case SocketQuery::Only::established: return 1U << TCP_ESTABLISHED;
    case SocketQuery::Only::all: break;
  }
  return ~std::uint32_t{0};
}

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

bool send_request(int netlink, int family, const SocketQuery& query) {
  Request request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = static_cast<std::uint8_t>(family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = states(query.only);
  if (query.with_bytes) request.body.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  request.body.id.idiag_sport = htons(query.local_port);
  request.body.id.idiag_dport = htons(query.remote_port);
  return ::send(netlink, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request);
}

std::string address_text(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, address, text.data(), text.size());
  return text.data();
}

/// What went over a connection, from the attributes behind its message.
ConnectionTraffic traffic_in(const nlmsghdr& header) {
  const auto* message = static_cast<const inet_diag_msg*>(NLMSG_DATA(&header));
  const auto* attribute = reinterpret_cast<const rtattr*>(message + 1);
  for (auto size = header.nlmsg_len - NLMSG_LENGTH(sizeof *message); RTA_OK(attribute, size);
       attribute = RTA_NEXT(attribute, size)) {
    if (attribute->rta_type == INET_DIAG_INFO)
      return traffic_in_tcp_info(RTA_DATA(attribute), RTA_PAYLOAD(attribute));
  }
  return {};
}

Socket to_socket(const nlmsghdr& header) {
  const auto& message = *static_cast<const inet_diag_msg*>(NLMSG_DATA(&header));
  Socket socket;
  socket.traffic = traffic_in(header);
  socket.state = state_of_tcp(message.idiag_state);
  socket.established = message.idiag_state == TCP_ESTABLISHED;
  socket.local_port = ntohs(message.id.idiag_sport);
  socket.local_address = address_text(message.idiag_family, message.id.idiag_src);
  if (socket.state == SocketState::connected || socket.state == SocketState::time_wait) {
    socket.remote_port = ntohs(message.id.idiag_dport);
    socket.remote_address = address_text(message.idiag_family, message.id.idiag_dst);
  }
  socket.inode = message.idiag_inode;
  socket.uid = message.idiag_uid;
  return socket;
}

enum class Part { more, last, refused };

/// Takes the messages of one datagram apart.
Part read_part(const nlmsghdr* header, unsigned size, const SocketQuery& query,
               std::vector<Socket>& sockets) {
  for (; NLMSG_OK(header, size); header = NLMSG_NEXT(header, size)) {
    if (header->nlmsg_type == NLMSG_DONE) return Part::last;
    if (header->nlmsg_type == NLMSG_ERROR) return Part::refused;
    auto socket = to_socket(*header);
    // Linux 6.18 filters connections by port, and gives us every socket that is only bound.
    if (matches(socket, query)) sockets.push_back(std::move(socket));
  }
  return Part::more;
}

bool dump_family(int netlink, int family, const SocketQuery& query, std::vector<Socket>& sockets) {
  if (!send_request(netlink, family, query)) return false;
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  for (;;) {
    const auto size = ::recv(netlink, buffer.data(), buffer.size(), 0);
    if (size <= 0) return false;
    const auto* header = reinterpret_cast<const nlmsghdr*>(buffer.data());
    const auto part = read_part(header, static_cast<unsigned>(size), query, sockets);
    if (part != Part::more) return part == Part::last;
  }
}

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

SocketState state_of_tcp(unsigned kernel_state) {
  switch (kernel_state) {
    case TCP_LISTEN: return SocketState::listening;
    case TCP_TIME_WAIT: return SocketState::time_wait;
    case kBoundInactive:
    case TCP_CLOSE: return SocketState::bound;
    default: return SocketState::connected;
  }
}

bool matches(const Socket& socket, const SocketQuery& query) {
  return (query.local_port == 0 || query.local_port == socket.local_port) &&
         (query.remote_port == 0 || query.remote_port == socket.remote_port) &&
         (query.only != SocketQuery::Only::listening || socket.state == SocketState::listening) &&
         (query.only != SocketQuery::Only::established || socket.established);
}

std::optional<std::vector<Socket>> ask_sock_diag(const SocketQuery& query) {
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink) return std::nullopt;
  std::vector<Socket> sockets;
  if (!dump_family(netlink.get(), AF_INET, query, sockets)) return std::nullopt;
  // A kernel without IPv6 refuses this half, and there is nothing to find in it.
  static_cast<void>(dump_family(netlink.get(), AF_INET6, query, sockets));
  return sockets;
}

namespace {

struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};

/// "0100007F:1F90": the address as words in the host's byte order, then the port.
Endpoint parse_endpoint(std::string_view text) {
  const auto digits = take_word(text, ':');
  std::array<std::uint32_t, 4> words{};
  const auto count = std::min(digits.size() / 8, words.size());
  for (std::size_t i = 0; i < count; ++i)
    words[i] = number_in<std::uint32_t>(digits.substr(i * 8, 8), 16);
  std::array<char, INET6_ADDRSTRLEN> address{};
  ::inet_ntop(count == 1 ? AF_INET : AF_INET6, words.data(), address.data(), address.size());
  return {address.data(), number_in<std::uint16_t>(text, 16)};
}

/// The next word of a table whose columns are padded with blanks.
std::string_view next_column(std::string_view& line) {
  const auto begin = line.find_first_not_of(' ');
  line.remove_prefix(begin == std::string_view::npos ? line.size() : begin);
  return take_word(line);
}

/// nullopt for a line that ends before the inode.
std::optional<Socket> parse_line(std::string_view line) {
  Socket socket;
  static_cast<void>(next_column(line));  // the line's number
  auto local = parse_endpoint(next_column(line));
  auto remote = parse_endpoint(next_column(line));
  const auto state = number_in<unsigned>(next_column(line), 16);
  socket.state = state_of_tcp(state);
  socket.established = state == TCP_ESTABLISHED;
  for (int i = 0; i < 3; ++i) static_cast<void>(next_column(line));  // queues, timer, retransmits
  socket.uid = number_in<unsigned>(next_column(line));
  static_cast<void>(next_column(line));  // timeout
  const auto inode = to_number<std::uint64_t>(next_column(line));
  if (!inode) return std::nullopt;
  socket.inode = *inode;
  socket.local_port = local.port;
  socket.local_address = std::move(local.address);
  if (socket.state != SocketState::listening) {
    socket.remote_port = remote.port;
    socket.remote_address = std::move(remote.address);
  }
  return socket;
}

}  // namespace

std::vector<Socket> parse_proc_net_tcp(std::string_view text, const SocketQuery& query) {
  std::vector<Socket> sockets;
  static_cast<void>(take_word(text, '\n'));  // the heading
  while (!text.empty()) {
    auto socket = parse_line(take_word(text, '\n'));
    if (socket && matches(*socket, query)) sockets.push_back(std::move(*socket));
  }
  return sockets;
}

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
    for (const Socket& socket : *sockets) traffic[socket.inode] = socket.traffic;
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
