#include "safelaunch/host/firewall.h"

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::host;
using safelaunch::testing::TemporaryFolder;

TEST_CASE("the firewall's tool is the one that is switched on, else one that is installed",
          "[firewall]") {
  const TemporaryFolder root;
  const auto found = [&] { return find_firewall(root / ""); };
  CHECK(found() == Firewall::unknown);
  root.write("usr/sbin/nft", "");
  CHECK(found() == Firewall::nft);
  root.write("usr/sbin/iptables",
             "");  // nft has no table inet filter where rules are iptables' own
  CHECK(found() == Firewall::iptables);
  root.write("etc/systemd/system/sysinit.target.wants/nftables.service", "");
  CHECK(found() == Firewall::nft);
  root.write("usr/bin/firewall-cmd", "");
  root.write("etc/ufw/ufw.conf", "# /etc/ufw/ufw.conf\nENABLED=no\n");
  CHECK(found() == Firewall::nft);  // both are there, and neither is at work
  root.write("sys/fs/cgroup/system.slice/firewalld.service/cgroup.procs", "");
  CHECK(found() == Firewall::firewalld);
  root.write("etc/ufw/ufw.conf", "# /etc/ufw/ufw.conf\nENABLED=yes\n");
  CHECK(found() == Firewall::ufw);
}

TEST_CASE("a firewall is told by a name that reads back", "[firewall]") {
  for (const Firewall one :
       {Firewall::unknown, Firewall::ufw, Firewall::firewalld, Firewall::nft, Firewall::iptables})
    CHECK(firewall_named(name(one)) == one);
  CHECK(firewall_named("rm -rf /") == Firewall::unknown);
}

TEST_CASE("each firewall has its command for a port and for an address", "[firewall]") {
  CHECK(command_to_pass(Firewall::ufw, 29500) == "sudo ufw allow 29500/tcp");
  CHECK(command_to_pass(Firewall::firewalld, 29500) == "sudo firewall-cmd --add-port=29500/tcp");
  CHECK(command_to_pass(Firewall::nft, 29500) ==
        "sudo nft insert rule inet filter input tcp dport 29500 accept");
  CHECK(command_to_pass(Firewall::iptables, 29500) ==
        "sudo iptables -I INPUT -p tcp --dport 29500 -j ACCEPT");
  CHECK(command_to_pass(Firewall::unknown, 29500).empty());

  CHECK(command_to_pass_from(Firewall::nft, "fd00::2") ==
        "sudo nft insert rule inet filter input ip6 saddr fd00::2 accept");
  CHECK(command_to_pass_from(Firewall::iptables, "fd00::2") ==
        "sudo ip6tables -I INPUT -s fd00::2 -j ACCEPT");
  CHECK(command_to_pass_from(Firewall::iptables, "10.0.0.2") ==
        "sudo iptables -I INPUT -s 10.0.0.2 -j ACCEPT");
  CHECK(command_to_pass_from(Firewall::unknown, "10.0.0.2").empty());
}
