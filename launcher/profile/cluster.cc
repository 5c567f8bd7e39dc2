#include <algorithm>

#include "network.h"
#include "pattern.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/nearest.h"
#include "safelaunch/profile/config.h"

namespace safelaunch::profile {
namespace {

bool hostname_matches(std::string_view pattern, std::string_view hostname) {
  return matches_whole(pattern, hostname) ||
         matches_whole(pattern, hostname.substr(0, hostname.find('.')));
}

}  // namespace

bool ClusterMatch::empty() const {
  return hostname.empty() && gpu.empty() && env.empty() && network.empty();
}

bool asks_for_gpus(const Config& config) {
  return std::any_of(config.clusters.begin(), config.clusters.end(),
                     [](const ClusterRule& rule) { return !rule.match.gpu.empty(); });
}

bool matches(const ClusterMatch& match, const ClusterHost& host) {
  const auto is_gpu = [&](const std::string& gpu) { return occurs_in(match.gpu, gpu); };
  const auto is_there = [&](const std::string& address) {
    return is_in_network(address, match.network);
  };
  const auto has_value = [&](const auto& wanted) {
    const auto found = host.environment.find(wanted.first);
    return found != host.environment.end() && matches_whole(wanted.second, found->second);
  };
  if (match.empty()) return false;
  if (!match.hostname.empty() && !hostname_matches(match.hostname, host.hostname)) return false;
  if (!match.gpu.empty() && std::none_of(host.gpus.begin(), host.gpus.end(), is_gpu)) return false;
  if (!match.network.empty() &&
      std::none_of(host.addresses.begin(), host.addresses.end(), is_there))
    return false;
  return std::all_of(match.env.begin(), match.env.end(), has_value);
}

Result<const ClusterRule*> choose_cluster(const Config& config, std::string_view name,
                                          const ClusterHost& host) {
  std::vector<std::string_view> names;
  for (const ClusterRule& rule : config.clusters) {
    if (name.empty() ? matches(rule.match, host) : rule.name == name) return &rule;
    names.push_back(rule.name);
  }
  if (name.empty()) return nullptr;
  return Error{Errc::usage, fmt::format("--cluster {}: {} has no such rule{}", name,
                                        config.origin.empty() ? "safelaunch.yaml" : config.origin,
                                        did_you_mean(name, names))};
}

Rules rules_for(const Config& config, const ClusterRule* cluster) {
  Rules rules = config.everywhere;
  if (cluster == nullptr) return rules;
  if (!cluster->rules.chain.empty()) {
    rules.chain = cluster->rules.chain;
    rules.chain_place = cluster->rules.chain_place;
  }
  for (const auto& [name, setting] : cluster->rules.variables.env) {
    rules.variables.env[name] = setting;
    std::erase(rules.variables.unset, name);
  }
  for (const std::string& name : cluster->rules.variables.unset) {
    rules.variables.env.erase(name);
    rules.variables.unset.push_back(name);
  }
  rules.options = settings::overlay(std::move(rules.options), cluster->rules.options);
  return rules;
}

}  // namespace safelaunch::profile
