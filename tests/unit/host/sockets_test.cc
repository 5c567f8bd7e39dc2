#include "safelaunch/host/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "catch.h"
#include "child.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/activity.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;

namespace {

UniqueFd bound_socket(std::uint16_t port = 0) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

UniqueFd listener() {
  auto fd = bound_socket();
  ::listen(fd.get(), 5);
  return fd;
}

sockaddr_in address_of(const UniqueFd& fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return address;
}

std::uint16_t port_of(const UniqueFd& fd) {
  return ntohs(address_of(fd).sin_port);
}

UniqueFd connection_to(const UniqueFd& server) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = address_of(server);
  ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return fd;
}

}  // namespace

TEST_CASE("a listener is found with its owner") {
  const auto server = listener();

  const auto holders = holders_of(port_of(server), KernelSockets());

  REQUIRE(holders.size() == 1);
  CHECK(holders[0].pid == ::getpid());
  CHECK(holders[0].uid == ::geteuid());
  CHECK(holders[0].state == SocketState::listening);
  CHECK_THAT(holders[0].command, ContainsSubstring("test_host"));
}

TEST_CASE("a listener is among everything that listens, a bound socket is not") {
  const auto server = listener();
  const auto bound = bound_socket();
  const auto listening = KernelSockets().listening();

  CHECK(std::ranges::count(listening, port_of(server), &Socket::local_port) == 1);
  CHECK(std::ranges::count(listening, port_of(bound), &Socket::local_port) == 0);
}

TEST_CASE("a port that an outgoing connection holds has an owner") {
  const auto server = listener();
  const auto client = connection_to(server);

  const auto holders = holders_of(port_of(client), KernelSockets());

  REQUIRE(holders.size() == 1);
  CHECK(holders[0].pid == ::getpid());
  CHECK(holders[0].state == SocketState::connected);
}

TEST_CASE("a port that is bound and nothing more has an owner where the kernel tells") {
  const auto bound = bound_socket();

  const auto holders = holders_of(port_of(bound), KernelSockets());

  if (holders.empty()) {
    WARN("this kernel does not show bound sockets (before 6.8)");
    return;
  }
  CHECK(holders[0].pid == ::getpid());
  CHECK(holders[0].state == SocketState::bound);
}

TEST_CASE("a socket that is bound to another port is not taken for a holder") {
  // The kernel's filter by port leaves out such sockets.
  const auto other = bound_socket();
  const auto server = listener();

  const auto holders = holders_of(port_of(server), KernelSockets());
  REQUIRE(holders.size() == 1);
  CHECK(holders[0].state == SocketState::listening);
  CHECK(KernelSockets().on_port(port_of(server)).size() == 1);
}

TEST_CASE("a free port has no holder") {
  auto bound = bound_socket();
  const auto port = port_of(bound);
  bound.reset();
  CHECK(holders_of(port, KernelSockets()).empty());
}

TEST_CASE("a port in TIME_WAIT has no holder") {
  const auto server = listener();
  auto client = connection_to(server);
  UniqueFd accepted(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const auto port = port_of(client);
  client.reset();  // the side that closes first keeps TIME_WAIT
  accepted.reset();

  const auto sockets = KernelSockets().on_port(port);
  CHECK(std::ranges::all_of(sockets, [](const Socket& s) { return s.inode == 0; }));
  CHECK(holders_of(port, KernelSockets()).empty());
}

TEST_CASE("those who are connected to a port are joined with their processes") {
  const auto server = listener();
  Child joined([&] {
    const auto connection = connection_to(server);
    ::pause();
  });
  Child missing([] { ::pause(); });
  REQUIRE(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC) >= 0);

  auto connections = KernelSockets().to_port(port_of(server));
  // What another test has closed lately may have been connected to the same number.
  std::erase_if(connections, [](const Socket& one) { return one.state == SocketState::time_wait; });

  REQUIRE(connections.size() == 1);
  CHECK(connections[0].remote_address == "127.0.0.1");
  const std::vector inodes{connections[0].inode};
  const std::vector pids{joined.pid(), missing.pid()};
  CHECK(owners(inodes, pids)[inodes[0]] == std::vector{joined.pid()});
}

TEST_CASE("a holder is described as a person would") {
  CHECK(describe(PortHolder{29500, SocketState::listening, 71, 1000, "bob", "python server.py",
                            3h + 5min}) ==
        "pid 71 (python server.py) of user bob, listening for 3h");
  CHECK(describe(PortHolder{29500, SocketState::listening, 0, 1000, "bob", "", {}}) ==
        "a process of user bob that we may not see, listening");
}

TEST_CASE("netlink and /proc/net/tcp tell the same") {
  const auto server = listener();
  const auto client = connection_to(server);
  const SocketQuery query{.local_port = port_of(client)};

  // The same port may begin another program's connection to another server.
  const auto ours = [&](const auto& sockets) {
    return std::ranges::find_if(
        sockets, [&](const auto& socket) { return socket.remote_port == port_of(server); });
  };
  const auto asked = ask_sock_diag(query);
  REQUIRE(asked);
  const auto told = ours(*asked);
  REQUIRE(told != asked->end());
  FILE* file = ::fopen("/proc/net/tcp", "re");
  std::string text(1'000'000, '\0');
  text.resize(::fread(text.data(), 1, text.size(), file));
  ::fclose(file);
  const auto sockets = parse_proc_net_tcp(text, query);
  const auto read = ours(sockets);

  REQUIRE(read != sockets.end());
  CHECK(read->inode == told->inode);
  CHECK(read->local_address == told->local_address);
  CHECK(read->remote_address == told->remote_address);
  CHECK(read->uid == told->uid);
  CHECK(read->state == told->state);
}

TEST_CASE("an IPv6 line of /proc/net/tcp6 is read") {
  const auto sockets = parse_proc_net_tcp(
      "  sl  local_address remote_address st\n"
      "   0: 00000000000000000000000001000000:733C 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n",
      {.local_port = 29500, .only = SocketQuery::Only::listening});

  REQUIRE(sockets.size() == 1);
  CHECK(sockets[0].local_address == "::1");
  CHECK(sockets[0].inode == 4711);
  CHECK(sockets[0].uid == 1000);
}

TEST_CASE("what goes over a connection is counted for who has it open") {
  const auto server = listener();
  Child downloads([&] {
    const auto connection = connection_to(server);
    std::array<char, 4096> part{};
    while (::recv(connection.get(), part.data(), part.size(), 0) > 0) continue;
  });
  const UniqueFd accepted(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const std::string data(300'000, 'x');
  REQUIRE(::send(accepted.get(), data.data(), data.size(), 0) == static_cast<ssize_t>(data.size()));

  CHECK(eventually([&] {
    auto sample = sample_tree(downloads.id(), Clock::now(), Procfs());
    add_traffic(sample, socket_traffic());
    const SocketTraffic& traffic = sample.processes.front().traffic;
    return traffic.size() == 1 && traffic.begin()->second.bytes >= data.size();
  }));
}
