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

TEST_CASE("capitals mean nothing in a host name", "[name_lookup]") {
  CHECK(addresses_in_hosts("10.0.0.5 GPU-1.Cluster gpu-1\n", "gpu-1.cluster") == Words{"10.0.0.5"});
  CHECK(addresses_in_hosts("10.0.0.5 gpu-1\n", "GPU-1") == Words{"10.0.0.5"});
}

TEST_CASE("a hosts file that an editor of Windows has written is read", "[name_lookup]") {
  CHECK(addresses_in_hosts("127.0.0.1 localhost\r\n10.0.0.5\tgpu-1\r\n", "gpu-1") ==
        Words{"10.0.0.5"});
}

TEST_CASE("a name in a hosts file is a whole word, and no address", "[name_lookup]") {
  constexpr const char* kHosts = "10.0.0.5 gpu-10\n10.0.0.6 xgpu-1\n10.0.0.7\n10.0.0.8 # gpu-1\n";
  CHECK(addresses_in_hosts(kHosts, "gpu-1") == Words{});
  CHECK(addresses_in_hosts(kHosts, "10.0.0.7") == Words{});
  CHECK(addresses_in_hosts("  10.0.0.9   gpu-1", "gpu-1") == Words{"10.0.0.9"});
}

TEST_CASE("what looks like an address and is none needs a resolver", "[name_lookup]") {
  for (const char* address :
       {"0.0.0.0", "255.255.255.255", "::", "::1", "fe80::1", "::ffff:1.2.3.4"})
    CHECK(is_address(address));
  for (const char* name : {"", "1.2.3", "256.1.1.1", "1.2.3.4 ", "1.2.3.4:80", "[::1]",
                           "fe80::1%eth0", ":::", "01.2.3.x"})
    CHECK_FALSE(is_address(name));
}

TEST_CASE("the hosts file knows an address and no name that nobody has", "[name_lookup]") {
  CHECK(look_up_in_hosts_file("10.0.0.5").addresses == Words{"10.0.0.5"});
  const NameLookup none = look_up_in_hosts_file("no-such-host.of.safelaunch.invalid");
  CHECK(none.outcome == NameLookup::Outcome::skipped);  // a name server may know it
  CHECK(none.name == "no-such-host.of.safelaunch.invalid");
}
