#include <algorithm>

#include "checks.h"
#include "interface_choice.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"

namespace safelaunch::doctor {
namespace {

/// Where a variable's value comes from: the environment, or a file that NCCL reads by itself.
struct SetValue {
  std::string value;
  std::string place;  ///< "NCCL_SOCKET_IFNAME=eth7", with ":LINE" of a file before it
};

SetValue nccl_value(const HostFacts& facts, std::string_view name) {
  const auto own = value_or(facts.subject.environment, name);
  if (!own.empty()) return {std::string(own), fmt::format("{}={}", name, own)};
  const auto found = std::ranges::find(facts.nccl_files, name, &host::FileVariable::name);
  if (found == facts.nccl_files.end()) return {};
  return {found->value, fmt::format("{}:{}: {}={}", found->file, found->line, name, found->value)};
}

std::string names_of(std::span<const host::NetworkInterface> all) {
  std::string names;
  for (const host::NetworkInterface& one : all)
    if (one.up && !one.addresses.empty()) names += (names.empty() ? "" : ", ") + one.name;
  return names;
}

/// On one node the profile loopback goes round a wrong name; on several nothing does.
Severity wrong_name(const HostFacts& facts) {
  return facts.world.nodes > 1 ? Severity::blocks : Severity::risk;
}

void check_nccl_name(const HostFacts& facts, Advices& advices) {
  const SetValue set = nccl_value(facts, "NCCL_SOCKET_IFNAME");
  if (set.value.size() <= 1 || !picked_by_nccl(set.value, facts.interfaces).empty()) return;
  // Where NCCL cannot run, nobody reads it.
  const Severity severity = facts.host.gpus > 0 ? wrong_name(facts) : Severity::note;
  advise(advices, severity, cause::kIfnameMissing,
         fmt::format("{} picks no interface of this host; there are {}", set.place,
                     names_of(facts.interfaces)),
         "unset NCCL_SOCKET_IFNAME, or name one that is there");
}

void check_gloo_name(const HostFacts& facts, Advices& advices) {
  const auto list = value_or(facts.subject.environment, "GLOO_SOCKET_IFNAME");
  const auto unknown = unknown_to_gloo(list, facts.interfaces);
  if (unknown.empty()) return;
  const char* const syntax =
      list.find_first_of("^=") == std::string_view::npos ? "" : "; gloo takes plain names only";
  advise(advices, wrong_name(facts), cause::kIfnameMissing,
         fmt::format("GLOO_SOCKET_IFNAME={}: there is no interface {}, there are {}{}", list,
                     unknown.front(), names_of(facts.interfaces), syntax),
         "unset GLOO_SOCKET_IFNAME, or name one that is there");
}

/// NCCL would offer the peers an address behind a bridge or a VPN, where the way to them leads over
/// another interface.
void check_choice(const HostFacts& facts, Advices& advices) {
  if (facts.world.nodes <= 1 || facts.to_master.kind != host::Route::Kind::out) return;
  if (!nccl_value(facts, "NCCL_SOCKET_IFNAME").value.empty()) return;
  const std::string chosen = nccl_default(facts.interfaces);
  const std::string& right = facts.to_master.interface;
  if (chosen.empty() || chosen == right || !is_virtual(chosen)) return;
  advise(advices, Severity::risk, cause::kWrongInterface,
         fmt::format("NCCL takes {} by itself, and the way to {} leads over {}", chosen,
                     facts.world.master_address, right),
         fmt::format("export NCCL_SOCKET_IFNAME=={0} GLOO_SOCKET_IFNAME={0}", right));
}

}  // namespace

void check_interfaces(const HostFacts& facts, Advices& advices) {
  check_nccl_name(facts, advices);
  check_gloo_name(facts, advices);
  check_choice(facts, advices);
}

}  // namespace safelaunch::doctor
