#include "safelaunch/host/identity.h"
#include "safelaunch/host/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "catch.h"
#include "safelaunch/base/unique_fd.h"

using namespace safelaunch;

using namespace safelaunch::host;

namespace {

/// A socket on a free port of the loopback device.
struct Server {
  UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;

  Server() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(fd.get(), any, size) == 0);
    REQUIRE(::getsockname(fd.get(), any, &size) == 0);
    port = ntohs(address.sin_port);
  }
};

constexpr Duration kLong{20'000};

}  // namespace

TEST_CASE("a server that listens is reached", "[reach]") {
  const Server server;
  REQUIRE(::listen(server.fd.get(), 1) == 0);
  CHECK(try_to_reach("127.0.0.1", server.port, kLong).reach == Reach::connected);
}

TEST_CASE("a port on which nobody listens refuses", "[reach]") {
  const Server server;  // holds the port, so that nobody else listens there
  const Reachability result = try_to_reach("127.0.0.1", server.port, kLong);
  CHECK(result.reach == Reach::refused);
  CHECK(result.why == "Connection refused");
}

TEST_CASE("the kernel's errors fall into three answers", "[reach]") {
  CHECK(reach_of_error(0) == Reach::connected);
  CHECK(reach_of_error(ECONNREFUSED) == Reach::refused);
  CHECK(reach_of_error(ETIMEDOUT) == Reach::timed_out);
  for (const int error : {ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL})
    CHECK(reach_of_error(error) == Reach::no_route);
  CHECK(reach_of_error(EMFILE) == Reach::failed);
}

TEST_CASE("a blackhole is called so, where the kernel says 'Invalid argument'", "[route]") {
  CHECK(why_no_route(EINVAL) == "the route there is a blackhole");
  CHECK(why_no_route(ENETUNREACH) == "Network is unreachable");
}

TEST_CASE("a name is no address to connect to", "[reach]") {
  CHECK(try_to_reach("localhost", 1, kLong).reach == Reach::failed);
}

TEST_CASE("the loopback's address is local, and a word is none", "[route]") {
  const Route route = route_to("127.0.0.1");
  CHECK(route.kind == Route::Kind::local);
  CHECK(route.interface == "lo");
  CHECK(route_to("localhost").kind == Route::Kind::unknown);
}

TEST_CASE("an address or a name is this host's only where that is proved", "[reach]") {
  const std::string own = read_hostname();
  for (const std::string& name : {std::string("127.0.0.1"), std::string("localhost"), own,
                                  own.substr(0, own.find('.')) + ".cluster.example"}) {
    INFO(name);
    CHECK(is_this_host(name));
  }
  for (const char* name : {"192.0.2.9", "2001:db8::9", "another-host", ""}) {
    INFO(name);
    CHECK_FALSE(is_this_host(name));
  }
}

TEST_CASE("the loopback interface is among all", "[interfaces]") {
  bool found = false;
  for (const NetworkInterface& one : network_interfaces()) {
    if (one.name != "lo") continue;
    found = true;
    CHECK(one.loopback);
    CHECK(one.mtu > 0);
  }
  CHECK(found);
}

TEST_CASE("addresses that lead nowhere else are told", "[interfaces]") {
  CHECK(is_loopback_address("127.0.1.1"));
  CHECK(is_loopback_address("::1"));
  CHECK(is_loopback_address("::ffff:127.0.0.1"));
  CHECK_FALSE(is_loopback_address("::ffff:10.0.0.1"));
  CHECK_FALSE(is_loopback_address("10.0.0.1"));
}

TEST_CASE("a store's port is ours where its host is the loopback", "[reach]") {
  CHECK(port_at_loopback("127.0.0.1:29500") == 29500);
  CHECK(port_at_loopback("localhost:29500") == 29500);
  CHECK(port_at_loopback("::1:29500") == 29500);
  CHECK(port_at_loopback("[::1]:29500") == 29500);
  for (const char* other : {"10.0.0.7:29500", "127.0.0.2:29500", "node-1:29500", "127.0.0.1",
                            "127.0.0.1:0", "127.0.0.1:70000", "127.0.0.1:port", ""})
    CHECK(port_at_loopback(other) == std::nullopt);
}
