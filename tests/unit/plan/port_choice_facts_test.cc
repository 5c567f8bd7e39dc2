#include "safelaunch/plan/port_choice.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::plan;

namespace {

/// Somebody whom we may not see listens on one port.
class OneListener final : public host::SocketTable {
 public:
  explicit OneListener(std::uint16_t port) {
    socket_.state = host::SocketState::listening;
    socket_.local_port = port;
    socket_.inode = ~std::uint64_t{0};  // no process of this host has it
  }
  [[nodiscard]] std::vector<host::Socket> on_port(std::uint16_t port) const override {
    return port == socket_.local_port ? std::vector{socket_} : std::vector<host::Socket>{};
  }
  [[nodiscard]] std::vector<host::Socket> to_port(std::uint16_t) const override { return {}; }
  [[nodiscard]] std::vector<host::Socket> listening() const override { return {socket_}; }
  [[nodiscard]] std::vector<host::Socket> established() const override { return {}; }

 private:
  host::Socket socket_;
};

std::vector<diagnose::Confirmation> facts(const diagnose::Evidence& evidence,
                                          const std::map<Rank, std::string>& knocking = {}) {
  return port_facts(evidence, knocking, diagnose::Catalogue::builtin(), OneListener(29777));
}

diagnose::Evidence failed_on(int port) {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.output = {{"rank-0.err", Rank{0},
                      "torch.distributed.DistNetworkError: The server socket has failed to listen "
                      "on any local network address. port: " +
                          std::to_string(port) +
                          ", useIpv6: false, code: -98, name: EADDRINUSE, message: address already "
                          "in use\n"}};
  return evidence;
}

diagnose::Evidence hung() {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::hung;
  return evidence;
}

}  // namespace

TEST_CASE("who holds a port that the job could not have is a fact", "[port_facts]") {
  const auto found = facts(failed_on(29777));
  REQUIRE(found.size() == 1);
  CHECK(found[0].cause == "port-taken");
  CHECK(found[0].port == 29777);
  CHECK(found[0].fact.starts_with("Port 29777 is held by a process of user "));
}

TEST_CASE("of a port that nobody holds any more there is nothing to tell", "[port_facts]") {
  CHECK(facts(failed_on(29778)).empty());
}

TEST_CASE("ranks that knock where somebody else listens are at a foreign store", "[port_facts]") {
  const auto found = facts(hung(), {{Rank{0}, "127.0.0.1:29777"}, {Rank{1}, "localhost:29777"}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].cause == "store-foreign");
}

TEST_CASE("a store on another host is not looked for here", "[port_facts]") {
  CHECK(facts(hung(), {{Rank{0}, "10.0.0.7:29777"}}).empty());
}

TEST_CASE("a store is ours to look for where it names this host, however that is written",
          "[port_facts]") {
  for (const char* store : {"127.0.0.1:29777", "localhost:29777", "::1:29777", "[::1]:29777"}) {
    INFO(store);
    const auto found = facts(hung(), {{Rank{0}, store}});
    REQUIRE(found.size() == 1);
    CHECK(found[0].port == 29777);
  }
  for (const char* store : {"", "29777", ":29777", "127.0.0.2:29777", "n0:29777",
                            "localhost:", "localhost:0", "localhost:-29777", "localhost:65536",
                            "localhost:x", "localhost:29778", "localhost:99999999999"}) {
    INFO(store);
    CHECK(facts(hung(), {{Rank{0}, store}}).empty());
  }
}

TEST_CASE("ranks that knock prove nothing of a job that did not hang", "[port_facts]") {
  CHECK(facts(failed_on(29778), {{Rank{0}, "localhost:29777"}}).empty());
}
