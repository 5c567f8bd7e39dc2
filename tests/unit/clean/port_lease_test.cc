#include "safelaunch/clean/port_lease.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "catch.h"
#include "safelaunch/base/format.h"
#include "unit/host/child.h"

using namespace safelaunch;

using namespace safelaunch::clean;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::Child;

namespace {

enum class Reuse { no, yes };

/// A server of the job or of a stranger: 0, or errno of the step that failed.
int serve(std::uint16_t port, Reuse reuse, UniqueFd& fd, in_addr_t address = INADDR_ANY) {
  fd = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = reuse == Reuse::yes ? 1 : 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(address);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return errno;
  return ::listen(fd.get(), 5) == 0 ? 0 : errno;
}

/// As torch does it: one IPv6 socket for both families.
int serve_dual_stack(std::uint16_t port, UniqueFd& fd) {
  fd = UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return 0;  // a host without IPv6 has nothing to test
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) return errno;
  return ::listen(fd.get(), 5) == 0 ? 0 : errno;
}

PortLease lease_any() {
  return lease_port(automatic_ports(ephemeral_ports())).value();
}

settings::PortRange only(std::uint16_t port) {
  return {port, port};
}

}  // namespace

TEST_CASE("a port or a range is read, and nothing else") {
  CHECK(settings::parse_port_range("29500").value() == settings::PortRange{29500, 29500});
  CHECK(settings::parse_port_range("20000-25000").value() == settings::PortRange{20000, 25000});
  for (const auto* text : {"", "0", "65536", "-1", "1-", "-", "9-8", "1-2-3", " 1", "1x", "auto"}) {
    CAPTURE(text);
    REQUIRE(settings::parse_port_range(text).has_error());
    CHECK(settings::parse_port_range(text).error().code == Errc::usage);
  }
}

TEST_CASE("ports are chosen apart from those that the kernel gives away") {
  CHECK(automatic_ports({32768, 60999}) == settings::PortRange{20000, 32767});
  CHECK(automatic_ports({25000, 60999}) == settings::PortRange{20000, 24999});
  CHECK(automatic_ports({15000, 30000}) == settings::PortRange{30001, 32767});
  CHECK(automatic_ports({15000, 65535}) == settings::PortRange{10000, 14999});
  CHECK(automatic_ports({1024, 65535}) == settings::PortRange{20000, 32767});
}

TEST_CASE("while a port is leased, the job's server gets it and a stranger's does not") {
  const auto lease = lease_any();
  UniqueFd stranger, job, dual;

  CHECK(serve(lease.port(), Reuse::no, stranger) == EADDRINUSE);
  CHECK(serve(lease.port(), Reuse::no, stranger, INADDR_LOOPBACK) == EADDRINUSE);
  CHECK(serve(lease.port(), Reuse::yes, job) == 0);
  job.reset();
  CHECK(serve_dual_stack(lease.port(), dual) == 0);
}

TEST_CASE("a leased port refuses connections until the job listens on it") {
  // accelerate takes a port that accepts for taken, and rightly so.
  const auto lease = lease_any();
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(lease.port());
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

  CHECK(::connect(client.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0);
  CHECK(errno == ECONNREFUSED);
}

TEST_CASE("no two leases are for the same port") {
  std::map<std::uint16_t, PortLease> leases;
  for (int i = 0; i < 100; ++i) {
    auto lease = lease_any();
    CHECK_FALSE(leases.contains(lease.port()));
    leases.emplace(lease.port(), std::move(lease));
  }
}

TEST_CASE("every port of a range is given out once, then none") {
  constexpr settings::PortRange kRange{21990, 22003};
  std::map<std::uint16_t, PortLease> leases;
  for (auto port = kRange.first; port <= kRange.last; ++port)
    if (!is_free(port)) return;  // somebody's server stands in it
  for (auto lease = lease_port(kRange); lease; lease = lease_port(kRange))
    leases.emplace(lease->port(), std::move(*lease));

  CHECK(leases.size() == 14);
  const auto none = lease_port(kRange);
  CHECK(none.error().code == Errc::blocked);
  CHECK_THAT(none.error().message, ContainsSubstring("no port from 21990 to 22003 is free"));
}

TEST_CASE("a name that somebody took without holding its port keeps no job off the port") {
  auto lease = std::make_unique<PortLease>(lease_any());
  const auto port = lease->port();
  lease.reset();
  const UniqueFd squatter(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const auto text = fmt::format("safelaunch/port/{}", port);
  std::ranges::copy(text, name.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  REQUIRE(::bind(squatter.get(), reinterpret_cast<sockaddr*>(&name), size) == 0);

  const auto ours = lease_port(only(port));

  REQUIRE(ours.has_value());
  UniqueFd stranger;
  CHECK(serve(port, Reuse::no, stranger) == EADDRINUSE);
  const bool taken = lease_port(only(port)).has_error();
  CHECK(taken);  // ours is bound, which the next one sees
}

TEST_CASE("a port that another safelaunch job has is said to be its") {
  const auto lease = lease_any();

  const auto second = lease_port(only(lease.port()));

  REQUIRE(second.has_error());
  CHECK(second.error().code == Errc::blocked);
  CHECK_THAT(second.error().message,
             ContainsSubstring(fmt::format("another safelaunch job (pid {})", ::getpid())));
}

TEST_CASE("a lease ends with the process that has it") {
  const auto port = lease_any().port();
  std::array<int, 2> tell{};
  REQUIRE(::pipe(tell.data()) == 0);
  auto child = std::make_unique<Child>([&] {
    const auto lease = lease_port(only(port));
    const bool leased = lease.has_value();
    static_cast<void>(::write(tell[1], &leased, sizeof leased));
    ::pause();
  });
  ::close(tell[1]);
  bool leased = false;
  REQUIRE(::read(tell[0], &leased, sizeof leased) == sizeof leased);
  ::close(tell[0]);
  REQUIRE(leased);
  REQUIRE(lease_port(only(port)).has_error());

  child.reset();

  CHECK(lease_port(only(port)).has_value());
}

TEST_CASE("a port that a stranger listens on is taken, and he is named") {
  const auto port = lease_any().port();
  UniqueFd server;
  REQUIRE(serve(port, Reuse::yes, server, INADDR_LOOPBACK) == 0);

  CHECK_FALSE(is_free(port));
  const auto lease = lease_port(only(port));

  REQUIRE(lease.has_error());
  CHECK(lease.error().code == Errc::blocked);
  CHECK_THAT(lease.error().message,
             ContainsSubstring(fmt::format("port {} is held by pid {} (", port, ::getpid())));
  CHECK_THAT(lease.error().message, ContainsSubstring("listening for"));
}

TEST_CASE("a port from which somebody has connected is taken") {
  const auto lease = lease_any();
  UniqueFd server;
  REQUIRE(serve(lease.port(), Reuse::yes, server) == 0);
  const auto port = lease_any().port();
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(port);
  REQUIRE(::bind(client.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  name.sin_port = htons(lease.port());
  REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);

  CHECK_FALSE(is_free(port));
  CHECK_THAT(lease_port(only(port)).error().message, ContainsSubstring("connected for"));
}

TEST_CASE("TIME_WAIT does not keep a port") {
  auto lease = lease_any();
  UniqueFd server;
  REQUIRE(serve(lease.port(), Reuse::yes, server) == 0);
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(lease.port());
  REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  ::close(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));  // closes first
  server.reset();

  CHECK(is_free(lease.port()));
}
