#pragma once

#include <optional>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/host/infiniband.h"
#include "safelaunch/host/network.h"

/// The themes of the doctor's examination. Each function adds what it finds; for a healthy host it
/// adds nothing. A finding must be true as it stands, so nothing is said where a fact is missing.
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
void check_script(const HostFacts& facts, Advices& advices);
void check_storage(const HostFacts& facts, Advices& advices);
void check_gpus(const HostFacts& facts, Advices& advices);
void check_xids(const HostFacts& facts, Advices& advices);

/// Adds a finding that safelaunch cannot fix by itself.
inline void advise(Advices& advices, Severity severity, std::string cause, std::string evidence,
                   std::string remedy) {
  advices.push_back({{std::move(cause), severity, std::move(evidence), std::move(remedy)}, {}, {}});
}

[[nodiscard]] bool has_efa(const host::Infiniband& infiniband);

/// The names of the libraries that NCCL tries as its network plugin, in its order; none where
/// NCCL_NET_PLUGIN forbids a plugin.
[[nodiscard]] std::vector<std::string> network_plugin_names(const Environment& environment);

/// An error of a GPU that NVIDIA's driver has written into the kernel's log.
struct Xid {
  std::string pci;  ///< "0000:1b:00"
  int code = 0;
  bool operator==(const Xid&) const = default;
};

/// Reads "NVRM: Xid (PCI:0000:1b:00): 79, pid=…"; gives nullopt for other lines.
[[nodiscard]] std::optional<Xid> parse_xid(std::string_view text);

/// True if the code tells of failing hardware or firmware. Most other codes are mistakes of
/// programs.
[[nodiscard]] bool is_grave(const Xid& xid);

/// The words of GLOO_SOCKET_IFNAME (exact names) that are no interface of this host.
[[nodiscard]] std::vector<std::string> unknown_to_gloo(std::string_view list,
                                                       std::span<const host::NetworkInterface> all);

}  // namespace safelaunch::doctor
