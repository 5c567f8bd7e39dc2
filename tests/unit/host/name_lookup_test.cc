#include "safelaunch/host/network.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;
using Words = std::vector<std::string>;

TEST_CASE("a hosts file gives a name's addresses in its order", "[name_lookup]") {
  constexpr const char* kHosts =
      "127.0.0.1 localhost\n"
      "# 10.0.0.9 gpu-1\n"
      "127.0.1.1\tgpu-1.cluster gpu-1  # Debian's trap\n"
      "10.0.0.5 gpu-1\n";
  CHECK(addresses_in_hosts(kHosts, "gpu-1") == Words{"127.0.1.1", "10.0.0.5"});
  CHECK(addresses_in_hosts(kHosts, "gpu-2") == Words{});
  CHECK(addresses_in_hosts("", "gpu-1") == Words{});
}

TEST_CASE("an address needs no resolver", "[name_lookup]") {
  for (const char* address : {"10.0.0.5", "fd00::5"}) {
    const NameLookup lookup = look_up(address, Duration{0});
    CHECK(lookup.outcome == NameLookup::Outcome::found);
    CHECK(lookup.addresses == Words{address});
  }
  CHECK_FALSE(is_address("gpu-1"));
}

TEST_CASE("localhost is found by the resolver", "[name_lookup]") {
  const NameLookup lookup = look_up("localhost", Duration{20'000});
  REQUIRE(lookup.outcome == NameLookup::Outcome::found);
  CHECK_FALSE(lookup.addresses.empty());
}
