#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/host/infiniband.h"
#include "safelaunch/host/interfaces.h"

/// The themes of the doctor's examination. Each function adds what it finds; a healthy host adds
/// nothing. A finding must be true as it stands: where a fact is missing, nothing is said.
namespace safelaunch::doctor {

using Advices = std::vector<Advice>;

void check_shared_memory(const HostFacts& facts, Advices& advices);
void check_limits(const HostFacts& facts, Advices& advices);
void check_world(const HostFacts& facts, Advices& advices);
void check_master(const HostFacts& facts, Advices& advices);
void check_interfaces(const HostFacts& facts, Advices& advices);
void check_infiniband(const HostFacts& facts, Advices& advices);
void check_efa(const HostFacts& facts, Advices& advices);
void check_variables(const HostFacts& facts, Advices& advices);
void check_processes(const HostFacts& facts, Advices& advices);
void check_python(const HostFacts& facts, Advices& advices);
void check_storage(const HostFacts& facts, Advices& advices);
void check_gpus(const HostFacts& facts, Advices& advices);
void check_xids(const HostFacts& facts, Advices& advices);

/// Adds a finding about which we can do nothing by ourselves.
inline void advise(Advices& advices, Severity severity, std::string cause, std::string evidence,
                   std::string remedy) {
  advices.push_back({{std::move(cause), severity, std::move(evidence), std::move(remedy)}, {}, {}});
}

[[nodiscard]] bool has_efa(const host::Infiniband& infiniband);

/// The libraries of which NCCL opens the first that is there, as its network; none where
/// NCCL_NET_PLUGIN forbids it.
[[nodiscard]] std::vector<std::string> network_plugin_names(const Environment& environment);

/// An error of a GPU that NVIDIA's driver has put into the kernel's log.
struct Xid {
  std::string pci;  ///< "0000:1b:00"
  int code = 0;
  bool operator==(const Xid&) const = default;
};

/// What "NVRM: Xid (PCI:0000:1b:00): 79, pid=…" says; nullopt for other lines.
[[nodiscard]] std::optional<Xid> parse_xid(std::string_view text);

/// Whether a code tells of hardware or firmware that fails; most others are mistakes of programs.
[[nodiscard]] bool is_grave(const Xid& xid);

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
