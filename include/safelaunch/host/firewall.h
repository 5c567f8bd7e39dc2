#pragma once

#include <filesystem>
#include <string>

/// The packet filter of this host, for a remedy that can be typed. It is only named: its rules are
/// root's to read, and nothing here changes them.
namespace safelaunch::host {

enum class Firewall { unknown, ufw, firewalld, nft, iptables };

/// "ufw", "firewall-cmd"; empty for unknown.
[[nodiscard]] std::string_view name(Firewall firewall);
/// The one with this name; another word is unknown.
[[nodiscard]] Firewall firewall_named(std::string_view name);

/// The tool that sets the filter: one that is switched on (ufw, firewalld, nftables), else one that
/// is installed (iptables, nft). Looks at files below `root`; needs no rights.
[[nodiscard]] Firewall find_firewall(const std::filesystem::path& root = "/");

/// The command, for root, that lets TCP connections to a port pass; empty where the tool is not
/// known.
[[nodiscard]] std::string command_to_pass(Firewall firewall, int port);
/// The same for all that comes from an address.
[[nodiscard]] std::string command_to_pass_from(Firewall firewall, const std::string& address);

}  // namespace safelaunch::host
