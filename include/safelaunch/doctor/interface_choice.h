#pragma once

#include <span>

#include "safelaunch/host/network.h"

/// The interfaces that NCCL takes, by the rules of its sources.
namespace safelaunch::doctor {

/// The interfaces that a value of NCCL_SOCKET_IFNAME picks. The value lists beginnings of names;
/// '=' in front makes them exact names, '^' picks all but the listed ones.
[[nodiscard]] std::vector<std::string> picked_by_nccl(std::string_view pattern,
                                                      std::span<const host::NetworkInterface> all);

/// The first interface that NCCL takes where no variable is set: one that begins with ib, else any
/// but docker, lo and virbr, else docker, lo, virbr in this order. Empty where none has an address.
[[nodiscard]] std::string nccl_default(std::span<const host::NetworkInterface> all);

/// True if the interface leads to containers, virtual machines or a VPN rather than to other nodes.
[[nodiscard]] bool is_virtual(std::string_view name);

}  // namespace safelaunch::doctor
