#include <netinet/tcp.h>

#include <utility>
#include <vector>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/sockets.h"

using namespace safelaunch;
using namespace safelaunch::host;

namespace {

constexpr const char* kNetHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

std::string net_line(const char* local, const char* remote, const char* state,
                     const char* inode = "4711") {
  return fmt::format(
      "   0: {} {} {} 00000000:00000000 00:00000000 00000000  1000        0 {} 1 0000 100 0 0 10 "
      "0\n",
      local, remote, state, inode);
}

std::vector<Socket> net_sockets(const std::string& lines, const SocketQuery& query = {}) {
  return parse_proc_net_tcp(kNetHead + lines, query);
}

/// "address:port address:port state" of each.
std::vector<std::string> net_words(const std::vector<Socket>& sockets) {
  std::vector<std::string> words;
  for (const Socket& one : sockets)
    words.push_back(fmt::format("{}:{} {}:{} {}", one.local_address, one.local_port,
                                one.remote_address, one.remote_port, name(one.state)));
  return words;
}

}  // namespace

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
TEST_CASE("addresses of both families are read, mapped ones too", "[proc_net]") {
  const std::string lines = net_line("0100007F:733C", "00000000:0000", "0A") +
                            net_line("0500000A:C350", "0400000A:733C", "01") +
                            net_line("00000000000000000000000000000000:733C",
                                     "00000000000000000000000000000000:0000", "0A") +
                            net_line("0000000000000000FFFF00000500000A:C351",
                                     "0000000000000000FFFF00000400000A:733C", "01");
  CHECK(net_words(net_sockets(lines)) ==
        std::vector<std::string>{"127.0.0.1:29500 :0 listening",
                                 "10.0.0.5:50000 10.0.0.4:29500 connected", ":::29500 :0 listening",
                                 "::ffff:10.0.0.5:50001 ::ffff:10.0.0.4:29500 connected"});
}
#endif

TEST_CASE("each state of a connection means one use of its port", "[proc_net]") {
  const std::vector<std::pair<int, SocketState>> table{{TCP_ESTABLISHED, SocketState::connected},
                                                       {TCP_SYN_SENT, SocketState::connected},
                                                       {TCP_SYN_RECV, SocketState::connected},
                                                       {TCP_FIN_WAIT1, SocketState::connected},
                                                       {TCP_FIN_WAIT2, SocketState::connected},
                                                       {TCP_TIME_WAIT, SocketState::time_wait},
                                                       {TCP_CLOSE, SocketState::bound},
                                                       {TCP_CLOSE_WAIT, SocketState::connected},
                                                       {TCP_LAST_ACK, SocketState::connected},
                                                       {TCP_LISTEN, SocketState::listening},
                                                       {TCP_CLOSING, SocketState::connected},
                                                       {12, SocketState::connected},
                                                       {13, SocketState::bound}};
  for (const auto& [state, use] : table) {
    const auto sockets = net_sockets(
        net_line("0100007F:733C", "0100007F:1F90", fmt::format("{:02X}", state).c_str()));
    CAPTURE(state);
    REQUIRE(sockets.size() == 1);
    CHECK(sockets[0].state == use);
    CHECK(sockets[0].established == (state == TCP_ESTABLISHED));
  }
}

TEST_CASE("a query picks by either port and by state", "[proc_net]") {
  const std::string lines = net_line("0100007F:733C", "00000000:0000", "0A") +
                            net_line("0100007F:733C", "0100007F:C350", "01") +
                            net_line("0100007F:C350", "0100007F:733C", "01") +
                            net_line("0100007F:C351", "0100007F:733C", "08");
  const auto count = [&](const SocketQuery& query) { return net_sockets(lines, query).size(); };
  CHECK(count({}) == 4);
  CHECK(count({.local_port = 29500}) == 2);
  CHECK(count({.remote_port = 29500}) == 2);
  CHECK(count({.local_port = 50000, .remote_port = 29500}) == 1);
  CHECK(count({.only = SocketQuery::Only::listening}) == 1);
  CHECK(count({.only = SocketQuery::Only::established}) == 2);
  CHECK(count({.remote_port = 29500, .only = SocketQuery::Only::established}) == 1);
  CHECK(count({.local_port = 1}) == 0);
}

TEST_CASE("a line that is torn is no socket, wherever it is torn", "[proc_net]") {
  const std::string line = net_line("0100007F:733C", "0100007F:1F90", "01");
  const std::size_t inode = line.find("4711");
  for (std::size_t size = 0; size <= inode; ++size)
    CHECK(net_sockets(line.substr(0, size)).empty());
  CHECK(net_sockets(line.substr(0, inode + 4)).size() == 1);
  CHECK(net_sockets("\n\n" + line).size() == 1);
}

TEST_CASE("a table without a line, or without a heading, has no socket", "[proc_net]") {
  CHECK(net_sockets("").empty());
  CHECK(parse_proc_net_tcp("", {}).empty());
}

TEST_CASE("inodes beyond 32 bits are read, and words in their place are not", "[proc_net]") {
  CHECK(net_sockets(net_line("0100007F:733C", "0100007F:1F90", "01", "9999999999"))[0].inode ==
        9'999'999'999U);
  CHECK(net_sockets(net_line("0100007F:733C", "0100007F:1F90", "01", "none")).empty());
}

TEST_CASE("each use of a port has words for people", "[sockets]") {
  CHECK(name(SocketState::listening) == std::string("listening"));
  CHECK(name(SocketState::bound) == std::string("bound, not listening"));
  CHECK(name(SocketState::connected) == std::string("connected"));
  CHECK(name(SocketState::time_wait) == std::string("closing"));
}

TEST_CASE("a kernel that tells too little of a connection has counted no bytes", "[sockets]") {
  const std::vector<unsigned char> old(104, 0xff);  // tcp_info of Linux 3.10
  CHECK(traffic_in_tcp_info(old.data(), old.size()).bytes == 0);
  CHECK(traffic_in_tcp_info(nullptr, 0).bytes == 0);
  const std::vector<unsigned char> newer(4096, 0);  // of a kernel after ours
  CHECK(traffic_in_tcp_info(newer.data(), newer.size()).answers == 0);
}

TEST_CASE("nobody is sought for no socket", "[sockets]") {
  CHECK(owners({}).empty());
}
