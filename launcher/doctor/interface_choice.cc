#include "interface_choice.h"

#include <algorithm>
#include <array>

namespace safelaunch::doctor {
namespace {

using std::string_view_literals::operator""sv;

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const auto word = list.substr(0, list.find(','));
    if (!word.empty()) words.push_back(word);
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return words;
}

template <class Prefixes>
bool begins_with_one_of(std::string_view name, const Prefixes& prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

/// Interfaces that are down or have no address are invisible to NCCL.
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

}  // namespace safelaunch::doctor
