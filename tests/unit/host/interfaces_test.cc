#include "safelaunch/host/network.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;

TEST_CASE("the loopback's addresses are not among the host's", "[network]") {
  for (const std::string& address : local_addresses()) {
    CHECK_FALSE(address.starts_with("127."));
    CHECK(address != "::1");
  }
}

TEST_CASE("the kernel's table of interfaces is read, headings and all", "[interfaces]") {
  const auto all = host::parse_interface_bytes(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
      "drop\n"
      "    lo: 12791037   92648    0    0    0     0          0         0 12791038   92648    0    "
      "0\n"
      "  eth0:412752712    9455    0    0    0     0          0         0   582402    7034    0    "
      "0\n"
      "torn: 7");
  REQUIRE(all.size() == 3);
  CHECK(all.at("lo").in == 12791037);
  CHECK(all.at("lo").out == 12791038);
  CHECK(all.at("eth0").in == 412752712);  // a long number leaves no space before it
  CHECK(all.at("eth0").out == 582402);
  CHECK(all.at("torn").out == 0);
}

TEST_CASE("this host's own table has the loopback", "[interfaces]") {
  CHECK(host::interface_bytes().contains("lo"));
}
