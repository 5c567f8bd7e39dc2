#include "safelaunch/job/binding.h"

#include <algorithm>

namespace safelaunch::job {
namespace {

using Cpus = std::vector<int>;

/// The begin of part `index`, when `size` things are cut into `parts` parts as even as can be.
std::size_t cut(std::size_t size, std::size_t index, std::size_t parts) {
  return size * index / parts;
}

/// Part `index` of `parts` of a node's CPUs; one CPU at least.
Cpus share(const Cpus& cpus, std::size_t index, std::size_t parts) {
  const std::size_t first = cut(cpus.size(), index, parts);
  const std::size_t last = std::max(first + 1, cut(cpus.size(), index + 1, parts));
  return Cpus(cpus.begin() + static_cast<Cpus::difference_type>(first),
              cpus.begin() + static_cast<Cpus::difference_type>(last));
}

}  // namespace

std::vector<std::vector<int>> bind_workers(Binding binding, std::span<const NumaNode> nodes,
                                           int workers) {
  std::vector<const NumaNode*> usable;  // a node may have memory and no CPU
  for (const NumaNode& node : nodes)
    if (!node.cpus.empty()) usable.push_back(&node);
  const auto count = static_cast<std::size_t>(std::max(0, workers));
  std::vector<Cpus> result(count);
  if (binding == Binding::none || usable.empty()) return result;

  const auto node_of = [&](std::size_t worker) { return worker * usable.size() / count; };
  for (std::size_t first = 0; first < count;) {
    const std::size_t node = node_of(first);
    std::size_t last = first;
    while (last < count && node_of(last) == node) ++last;
    for (std::size_t worker = first; worker < last; ++worker)
      result[worker] = binding == Binding::numa
                           ? usable[node]->cpus
                           : share(usable[node]->cpus, worker - first, last - first);
    first = last;
  }
  return result;
}

}  // namespace safelaunch::job
