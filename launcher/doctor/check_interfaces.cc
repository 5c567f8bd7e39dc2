#include "checks.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/doctor/interface_choice.h"

// NCCL and gloo choose an interface by rules of their own. The first part repeats these rules, as
// the libraries' sources have them; the second compares their choice with the variables that are
// set, the routing table and the interfaces of this host.
namespace safelaunch::doctor {

// ---- how NCCL and gloo choose -------------------------------------------------------------------

namespace {

using std::string_view_literals::operator""sv;

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::string_view word = take_word(list, ',');
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

template <class Prefixes>
bool begins_with_one_of(std::string_view name, const Prefixes& prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

/// True if NCCL sees the interface: those that are down or have no address are invisible to it.
bool is_candidate(const host::NetworkInterface& one) {
  return one.up && !one.addresses.empty();
}

template <class Wanted>
std::string first_candidate(std::span<const host::NetworkInterface> all, const Wanted& wanted) {
  const auto found = std::ranges::find_if(all, [&](const host::NetworkInterface& one) {
    return is_candidate(one) && wanted(std::string_view(one.name));
  });
  return found == all.end() ? "" : found->name;
}

}  // namespace

std::vector<std::string> picked_by_nccl(std::string_view pattern,
                                        std::span<const host::NetworkInterface> all) {
  const bool negated = pattern.starts_with('^');
  if (negated) pattern.remove_prefix(1);
  const bool exact = pattern.starts_with('=');
  if (exact) pattern.remove_prefix(1);
  const auto words = words_of(pattern);
  std::vector<std::string> picked;
  for (const host::NetworkInterface& one : all) {
    const bool named = std::ranges::any_of(words, [&](std::string_view word) {
      word = word.substr(0, word.find(':'));  // "eth0:PORT"
      return exact ? one.name == word : one.name.starts_with(word);
    });
    if (is_candidate(one) && named != negated) picked.push_back(one.name);
  }
  return picked;
}

std::string nccl_default(std::span<const host::NetworkInterface> all) {
  constexpr std::array kLast{"docker"sv, "lo"sv, "virbr"sv};
  std::string found = first_candidate(all, [](auto name) { return name.starts_with("ib"); });
  if (found.empty())
    found = first_candidate(all, [&](auto name) { return !begins_with_one_of(name, kLast); });
  for (const auto prefix : kLast)
    if (found.empty())
      found = first_candidate(all, [&](auto name) { return name.starts_with(prefix); });
  return found;
}

std::vector<std::string> unknown_to_gloo(std::string_view list,
                                         std::span<const host::NetworkInterface> all) {
  std::vector<std::string> unknown;
  for (const auto word : words_of(list))
    if (std::ranges::find(all, word, &host::NetworkInterface::name) == all.end())
      unknown.emplace_back(word);
  return unknown;
}

bool is_virtual(std::string_view name) {
  constexpr std::array kPrefixes{"docker"sv,  "br-"sv,    "veth"sv,   "virbr"sv, "cni"sv,
                                 "flannel"sv, "cali"sv,   "tun"sv,    "tap"sv,   "tailscale"sv,
                                 "wg"sv,      "lxc"sv,    "podman"sv, "kube"sv,  "zt"sv,
                                 "vmnet"sv,   "nerdctl"sv};
  return begins_with_one_of(name, kPrefixes);
}

// ---- what to say of it --------------------------------------------------------------------------

namespace {

/// A variable's value and the place where it is set: the environment, or a file that NCCL reads by
/// itself.
struct SetValue {
  std::string value;
  std::string place;  ///< "NCCL_SOCKET_IFNAME=eth7", after "FILE:LINE " where a file sets it
};

SetValue nccl_value(const HostFacts& facts, std::string_view name) {
  const auto own = value_or(facts.subject.environment, name);
  if (!own.empty()) return {std::string(own), fmt::format("{}={}", name, own)};
  const auto found = std::ranges::find(facts.nccl_files, name, &host::FileVariable::name);
  if (found == facts.nccl_files.end()) return {};
  return {found->value, fmt::format("{}:{}: {}={}", found->file, found->line, name, found->value)};
}

std::string names_of(std::span<const host::NetworkInterface> all) {
  std::vector<std::string> names;
  for (const host::NetworkInterface& one : all)
    if (one.up && !one.addresses.empty()) names.push_back(one.name);
  return join(names, ", ");
}

/// Weighs a wrong interface name. On one node the profile loopback works around it; on several
/// nothing does.
Severity wrong_name(const HostFacts& facts) {
  return facts.world.nodes > 1 ? Severity::blocks : Severity::risk;
}

void check_nccl_name(const HostFacts& facts, Advices& advices) {
  const SetValue set = nccl_value(facts, "NCCL_SOCKET_IFNAME");
  if (set.value.size() <= 1 || !picked_by_nccl(set.value, facts.interfaces).empty()) return;
  // Without a GPU no NCCL runs that could read the variable.
  const Severity severity = may_use_gpus(facts) ? wrong_name(facts) : Severity::note;
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

/// Warns where NCCL would offer its peers an address behind a bridge or a VPN while the route to
/// them leads over another interface.
void check_choice(const HostFacts& facts, Advices& advices) {
  if (facts.world.nodes <= 1 || facts.to_master.kind != host::Route::Kind::out) return;
  if (!nccl_value(facts, "NCCL_SOCKET_IFNAME").value.empty()) return;
  const std::string chosen = nccl_default(facts.interfaces);
  const std::string& right = facts.to_master.interface;
  if (chosen.empty() || chosen == right || !is_virtual(chosen)) return;
  advise(advices, Severity::risk, cause::kWrongInterface,
         fmt::format("NCCL chooses {} by itself, but the route to {} goes over {}", chosen,
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
