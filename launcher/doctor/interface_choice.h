#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/host/interfaces.h"

/// How NCCL and gloo choose among a host's interfaces, as their sources do it.
namespace safelaunch::doctor {

/// The interfaces that a value of NCCL_SOCKET_IFNAME picks: a list of beginnings of names, exact
/// names behind '=', all but the listed ones behind '^'. Words of one character are ignored.
[[nodiscard]] std::vector<std::string> picked_by_nccl(std::string_view pattern,
                                                      std::span<const host::NetworkInterface> all);

/// The first interface that NCCL takes where nothing is set: ib…, else any but docker, lo and
/// virbr, else docker, lo, virbr. Empty where none has an address.
[[nodiscard]] std::string nccl_default(std::span<const host::NetworkInterface> all);

/// The words of GLOO_SOCKET_IFNAME (exact names) that are no interface here.
[[nodiscard]] std::vector<std::string> unknown_to_gloo(std::string_view list,
                                                       std::span<const host::NetworkInterface> all);

/// Whether an interface leads to containers, virtual machines or a VPN rather than to other nodes.
[[nodiscard]] bool is_virtual(std::string_view name);

}  // namespace safelaunch::doctor
