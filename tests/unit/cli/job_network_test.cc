#include "launcher/cli/job_network.h"

#include <array>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

host::Socket connection(std::string from, std::string to) {
  host::Socket one;
  one.local_address = std::move(from);
  one.remote_address = std::move(to);
  return one;
}

const std::array<host::NetworkInterface, 3> kInterfaces{
    {{"lo", {"127.0.0.1", "::1"}, true, true, true, 65536},
     {"eth0", {"10.0.0.5"}, true, true, false, 1500},
     {"ib0", {"10.1.0.5"}, true, true, false, 4092}}};

std::set<std::string> used_by(const host::Socket& one) {
  return interfaces_used(std::array{one}, kInterfaces);
}

}  // namespace

TEST_CASE("a connection goes over the interface that has its own address", "[job_network]") {
  CHECK(used_by(connection("10.1.0.5", "10.1.0.6")) == std::set<std::string>{"ib0"});
  CHECK(used_by(connection("::ffff:10.0.0.5", "::ffff:10.0.0.6")) == std::set<std::string>{"eth0"});
  CHECK(used_by(connection("10.9.0.1", "10.9.0.2")).empty());
}

TEST_CASE("two addresses of one host are connected over the loopback", "[job_network]") {
  CHECK(used_by(connection("10.0.0.5", "10.0.0.5")) == std::set<std::string>{"lo"});
  CHECK(used_by(connection("127.0.0.1", "127.0.0.1")) == std::set<std::string>{"lo"});
}

TEST_CASE("a first look and a job without connections tell nothing", "[job_network]") {
  JobNetwork network;
  network.look({}, TimePoint{});
  CHECK(network.figures().empty());
  network.look({}, TimePoint{} + Duration{500});
  CHECK(network.figures().empty());
}
