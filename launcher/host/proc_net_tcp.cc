#include <arpa/inet.h>
#include <netinet/tcp.h>

#include <cstring>

#include "proc_file.h"
#include "sock_diag.h"

namespace safelaunch::host {
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

Socket parse_line(std::string_view line) {
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
  socket.inode = number_in(next_column(line));
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
    if (matches(socket, query)) sockets.push_back(std::move(socket));
  }
  return sockets;
}

}  // namespace safelaunch::host
