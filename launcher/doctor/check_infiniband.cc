#include "checks.h"

#include <algorithm>
#include <set>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// The adapters in /sys are compared with what a job of this user can open and with what NCCL would
// do: an adapter that cannot be opened, has no active port, or lacks the plugin that it needs (EFA)
// leaves NCCL on TCP without a word.
namespace safelaunch::doctor {
namespace {

bool is_active(const host::InfinibandPort& port) {
  return port.state == "ACTIVE";
}

std::string name_of(const host::InfinibandPort& port) {
  return fmt::format("{}:{}", port.device, port.number);
}

/// Lists the ports that meet the condition as NCCL_IB_HCA takes them: "mlx5_0:1,mlx5_1:1".
template <class Condition>
std::string list_of(const std::vector<host::InfinibandPort>& ports, const Condition& condition) {
  std::vector<std::string> names;
  for (const host::InfinibandPort& port : ports)
    if (condition(port)) names.push_back(name_of(port));
  return join(names, ",");
}

/// Finds adapters that are there and that the job cannot use. NCCL would be slow, and nothing else
/// would say so.
void check_access(const host::Infiniband& infiniband, Severity severity, Advices& advices) {
  constexpr const char* kRemedy =
      "docker run --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1";
  const host::InfinibandPort& first = infiniband.ports.front();
  if (infiniband.verbs.empty())
    advise(advices, severity, cause::kIbUnused,
           fmt::format("/sys/class/infiniband has {}, and /dev/infiniband/uverbs* is missing",
                       first.device),
           kRemedy);
  else if (infiniband.closed.size() == infiniband.verbs.size())
    advise(advices, severity, cause::kIbUnused,
           fmt::format("{} may not be opened by this user", infiniband.closed.front()), kRemedy);
}

void check_states(const host::Infiniband& infiniband, Severity severity, Advices& advices) {
  const std::string active = list_of(infiniband.ports, is_active);
  const auto down = std::ranges::find_if_not(infiniband.ports, is_active);
  if (down == infiniband.ports.end()) return;
  const std::string evidence = fmt::format("/sys/class/infiniband/{}/ports/{}/state is {}",
                                           down->device, down->number, down->state);
  if (active.empty())
    advise(advices, severity, cause::kIbUnused, evidence + ", and no port is active",
           "ibstat; the cable, the switch or the subnet manager");
  else
    advise(advices, Severity::note, cause::kIbPeer, evidence + ": NCCL leaves this port out",
           "where other nodes use it: NCCL_IB_HCA=" + active);
}

/// Warns of adapters of both kinds (InfiniBand and Ethernet): NCCL takes equally fast ones for one
/// network.
void check_layers(const host::Infiniband& infiniband, Advices& advices) {
  const auto is_native = [](const host::InfinibandPort& port) {
    return is_active(port) && port.link_layer == "InfiniBand";
  };
  std::set<std::string> layers;
  for (const host::InfinibandPort& port : infiniband.ports)
    if (is_active(port)) layers.insert(port.link_layer);
  if (layers.size() < 2) return;
  advise(advices, Severity::note, cause::kIbPeer,
         fmt::format("of the active ports {} speak InfiniBand, others Ethernet",
                     list_of(infiniband.ports, is_native)),
         "if ranks cannot reach each other: NCCL_IB_HCA=" + list_of(infiniband.ports, is_native));
}

}  // namespace

void check_infiniband(const HostFacts& facts, Advices& advices) {
  const host::Infiniband& infiniband = facts.infiniband;
  if (infiniband.ports.empty()) return;
  // Without a GPU the job does not use NCCL, so nothing is slower for it.
  const Severity severity = may_use_gpus(facts) ? Severity::risk : Severity::note;
  check_access(infiniband, severity, advices);
  check_states(infiniband, severity, advices);
  check_layers(infiniband, advices);
}

// ---- Amazon's adapters --------------------------------------------------------------------------

namespace {

const host::InfinibandPort* efa_port(const host::Infiniband& infiniband) {
  const auto found = std::ranges::find(infiniband.ports, "efa", &host::InfinibandPort::driver);
  return found == infiniband.ports.end() ? nullptr : &*found;
}

/// Says what keeps NCCL's plugin from being loaded; empty where nothing does.
std::string trouble_with_plugin(const HostFacts& facts) {
  if (!facts.network_plugins.empty()) return {};
  const auto names = network_plugin_names(facts.subject.environment);
  if (names.empty())
    return fmt::format("NCCL_NET_PLUGIN={} keeps NCCL from its plugin",
                       value_or(facts.subject.environment, "NCCL_NET_PLUGIN"));
  return fmt::format("there is no {} in LD_LIBRARY_PATH or the system's folders", names.front());
}

}  // namespace

bool has_efa(const host::Infiniband& infiniband) {
  return efa_port(infiniband) != nullptr;
}

std::vector<std::string> network_plugin_names(const Environment& environment) {
  const std::string named(value_or(environment, "NCCL_NET_PLUGIN"));
  if (named == "none") return {};
  if (named.empty()) return {"libnccl-net.so"};
  return {fmt::format("libnccl-net-{}.so", named), named, "libnccl-net.so"};
}

/// Warns where NCCL would take TCP without a word: the plugin is missing, or libfabric leaves the
/// adapter out.
void check_efa(const HostFacts& facts, Advices& advices) {
  const host::InfinibandPort* port = efa_port(facts.infiniband);
  if (port == nullptr || !facts.libraries || !may_use_gpus(facts)) return;
  if (const std::string trouble = trouble_with_plugin(facts); !trouble.empty())
    advise(advices, Severity::risk, cause::kEfa,
           fmt::format("{} is an EFA adapter, and {}: NCCL goes over TCP", port->device, trouble),
           "install aws-ofi-nccl, and name its lib folder in LD_LIBRARY_PATH");
  const auto provider = value_or(facts.subject.environment, "FI_PROVIDER");
  if (!provider.empty() && provider.find("efa") == std::string_view::npos)
    advise(advices, Severity::risk, cause::kEfa,
           fmt::format("FI_PROVIDER={} leaves the EFA adapter {} out", provider, port->device),
           "unset FI_PROVIDER, or FI_PROVIDER=efa");
}

}  // namespace safelaunch::doctor
