#include "safelaunch/host/firewall.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/user_file.h"

// ufw and firewalld are tools above the kernel's filter, so where one of them is at work its own
// command counts: what is set below it is gone when it starts again.
namespace safelaunch::host {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kFirewallNames{"", "ufw", "firewall-cmd", "nft",
                                                         "iptables"};

bool is_file(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

bool is_installed(const fs::path& root, std::string_view program) {
  return std::ranges::any_of(std::array{"usr/sbin", "usr/bin", "sbin", "bin"},
                             [&](auto folder) { return is_file(root / folder / program); });
}

bool ufw_is_on(const fs::path& root) {
  constexpr std::size_t kMost = 4096;
  return user_file_text(root / "etc/ufw/ufw.conf", kMost).value_or("").find("\nENABLED=yes") !=
         std::string::npos;
}

/// systemd keeps a service's cgroup as long as it runs.
bool firewalld_is_on(const fs::path& root) {
  return is_file(root / "sys/fs/cgroup/system.slice/firewalld.service") ||
         is_file(root / "sys/fs/cgroup/systemd/system.slice/firewalld.service");
}

/// Debian, RHEL and SUSE load a filter of nft's own by this unit, which has no cgroup.
bool nftables_is_on(const fs::path& root) {
  return std::ranges::any_of(std::array{"sysinit", "multi-user"}, [&](auto target) {
    const auto wants = root / fmt::format("etc/systemd/system/{}.target.wants", target);
    return is_file(wants / "nftables.service");
  });
}

bool is_ipv6(const std::string& address) {
  return address.find(':') != std::string::npos;
}

}  // namespace

std::string_view name(Firewall firewall) {
  return kFirewallNames.at(static_cast<std::size_t>(firewall));
}

Firewall firewall_named(std::string_view name) {
  const auto found = std::ranges::find(kFirewallNames, name);
  return found == kFirewallNames.end() ? Firewall::unknown
                                       : static_cast<Firewall>(found - kFirewallNames.begin());
}

Firewall find_firewall(const fs::path& root) {
  if (ufw_is_on(root)) return Firewall::ufw;
  if (firewalld_is_on(root)) return Firewall::firewalld;
  if (nftables_is_on(root)) return Firewall::nft;
  for (const Firewall tool : {Firewall::iptables, Firewall::nft})  // iptables brings nft with it
    if (is_installed(root, name(tool))) return tool;
  return Firewall::unknown;
}

std::string command_to_pass(Firewall firewall, int port) {
  switch (firewall) {
    case Firewall::ufw: return fmt::format("sudo ufw allow {}/tcp", port);
    case Firewall::firewalld: return fmt::format("sudo firewall-cmd --add-port={}/tcp", port);
    case Firewall::nft:
      return fmt::format("sudo nft insert rule inet filter input tcp dport {} accept", port);
    case Firewall::iptables:
      return fmt::format("sudo iptables -I INPUT -p tcp --dport {} -j ACCEPT", port);
    case Firewall::unknown: break;
  }
  return {};
}

std::string command_to_pass_from(Firewall firewall, const std::string& address) {
  const char* six = is_ipv6(address) ? "6" : "";
  switch (firewall) {
    case Firewall::ufw: return fmt::format("sudo ufw allow from {}", address);
    case Firewall::firewalld:
      return fmt::format("sudo firewall-cmd --zone=trusted --add-source={}", address);
    case Firewall::nft:
      return fmt::format("sudo nft insert rule inet filter input ip{} saddr {} accept", six,
                         address);
    case Firewall::iptables:
      return fmt::format("sudo ip{}tables -I INPUT -s {} -j ACCEPT", six, address);
    case Firewall::unknown: break;
  }
  return {};
}

}  // namespace safelaunch::host
