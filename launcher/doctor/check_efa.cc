#include <algorithm>

#include "checks.h"
#include "efa.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"

namespace safelaunch::doctor {
namespace {

const host::InfinibandPort* efa_port(const host::Infiniband& infiniband) {
  const auto found = std::ranges::find(infiniband.ports, "efa", &host::InfinibandPort::driver);
  return found == infiniband.ports.end() ? nullptr : &*found;
}

/// What keeps the plugin from being loaded; empty where nothing does.
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

/// Without the plugin, or with a libfabric that leaves the adapter out, NCCL takes TCP and says
/// nothing.
void check_efa(const HostFacts& facts, Advices& advices) {
  const host::InfinibandPort* port = efa_port(facts.infiniband);
  if (port == nullptr || !facts.libraries || facts.host.gpus == 0) return;
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
