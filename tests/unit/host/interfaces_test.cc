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
