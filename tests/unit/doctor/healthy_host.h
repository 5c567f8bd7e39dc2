#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "safelaunch/doctor/examine.h"

namespace safelaunch::testing {

/// A host of one node with two GPUs on which everything is well; a test spoils one thing.
inline doctor::HostFacts healthy_host() {
  constexpr std::uint64_t kGibi = std::uint64_t{1} << 30;
  doctor::HostFacts facts;
  facts.host.hostname = "gpu-1";
  facts.gpus = 2;
  facts.limits.locked_memory = {8 << 20, 8 << 20};
  facts.limits.open_files = {1024, 1048576};
  facts.limits.stack = {8 << 20, host::kUnlimited};
  facts.quotas.memory_left = 64 * kGibi;
  facts.shared_memory = {"/dev/shm", 32 * kGibi, 30 * kGibi, {}};
  facts.interfaces = {{"lo", {"127.0.0.1", "::1"}, true, true, true, 65536},
                      {"docker0", {"172.17.0.1"}, true, false, false, 1500},
                      {"eth0", {"10.0.0.5", "fe80::1"}, true, true, false, 1500}};
  facts.own_name = {host::NameLookup::Outcome::found, "gpu-1", {"10.0.0.5"}, {}, Duration{1}};
  facts.localhost = {host::NameLookup::Outcome::found, "localhost", {"127.0.0.1"}, {}, Duration{1}};
  facts.libraries.emplace();
  facts.libraries->torch_version = "2.13.0+cu130";
  facts.libraries->nccl = {{"/venv/libnccl.so.2", gpu::LibraryOrigin::torch, "2.29.7"}};
  return facts;
}

/// A node of two, whose master is another.
inline doctor::HostFacts second_node() {
  doctor::HostFacts facts = healthy_host();
  facts.world.nodes = 2;
  facts.world.node_rank = 1;
  facts.world.master_address = "node0";
  facts.world.master_port = 29500;
  facts.master_name = {host::NameLookup::Outcome::found, "node0", {"10.0.0.4"}, {}, Duration{1}};
  facts.to_master = {host::Route::Kind::out, "eth0", {}};
  return facts;
}

/// "cause severity" of each piece of advice, in order.
inline std::vector<std::string> outline(const doctor::HostFacts& facts) {
  std::vector<std::string> lines;
  for (const doctor::Advice& advice : doctor::examine(facts))
    lines.push_back(advice.finding.cause + " " + name(advice.finding.severity));
  return lines;
}

/// The first finding, for a closer look; one without a cause where there is none.
inline Finding first_finding(const doctor::HostFacts& facts) {
  const auto advices = doctor::examine(facts);
  return advices.empty() ? Finding{} : advices.front().finding;
}

/// A segment that nobody uses.
inline clean::StaleFile stale_file(const std::string& path, clean::Claim claim) {
  clean::StaleFile stale;
  stale.file.path = path;
  stale.file.bytes = 64 << 20;
  stale.claim = claim;
  stale.why = "made 3h ago, and nobody maps it";
  return stale;
}

}  // namespace safelaunch::testing
