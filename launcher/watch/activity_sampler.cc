#include "safelaunch/watch/activity_sampler.h"

#include <algorithm>
#include <utility>

#include "safelaunch/host/ray_daemons.h"

// Two looks that are half a second or more apart tell what a rank does; of closer ones the later
// is compared with the look before. Network traffic is expensive to read, so it is asked for
// only where nothing else shows work, once for all ranks of one moment.
namespace safelaunch::watch {
namespace {

using namespace std::chrono_literals;

// Closer looks than this show chance, not activity: a tick that comes early for a deadline is
// compared with the look before the last.
constexpr auto kApart = 500ms;

// Where there is no raylet, no command line is read.
void leave_out_rays_own(host::TreeSample& sample) {
  const auto is_raylet = [](const host::ProcessSample& one) { return one.facts.comm == "raylet"; };
  if (std::ranges::none_of(sample.processes, is_raylet)) return;
  std::erase_if(sample.processes, [](const host::ProcessSample& one) {
    return host::is_ray_daemon(one.facts.comm, host::command_line_of(one.facts.id.pid));
  });
}

}  // namespace

std::optional<host::ActivitySeen> compare_looks(const std::optional<host::TreeSample>& older,
                                                const std::optional<host::TreeSample>& newer,
                                                const host::TreeSample& newest) {
  if (newest.processes.empty()) return std::nullopt;
  const auto* base = newer && newest.at - newer->at >= kApart ? &newer : &older;
  const bool comparable = *base && !(*base)->processes.empty();
  if (!comparable) return std::nullopt;
  return host::classify(**base, newest);
}

std::optional<RankActivity> ActivitySampler::look(Rank rank, ProcessId process, TimePoint now) {
  const auto seen = compare(looks_[process], host::sample_tree(process, now, table_));
  if (!seen) return std::nullopt;
  return RankActivity{
      rank, process, seen->activity, seen->doing, seen->awaits_local, seen->awaits_input};
}

std::optional<host::ActivitySeen> ActivitySampler::look_at_others(ProcessId root,
                                                                  const std::set<ProcessId>& ranks,
                                                                  TimePoint now) {
  std::set<ProcessId> excluded = ranks;
  excluded.insert(root);
  host::TreeSample newest = sample_without(excluded, root, now);
  // Nobody is left who could be at work as the rank, or for it.
  if (newest.processes.empty()) return host::ActivitySeen{Activity::idling, {}};
  return compare(others_, std::move(newest));
}

std::optional<host::ActivitySeen> ActivitySampler::look_at_helpers(ProcessId root,
                                                                   const std::set<ProcessId>& ranks,
                                                                   TimePoint now) {
  std::set<ProcessId> excluded{root};
  for (const ProcessId rank : ranks)
    for (const host::ProcessFacts& facts : host::tree_of(rank, table_)) excluded.insert(facts.id);
  return compare(helpers_, sample_without(excluded, root, now));
}

host::TreeSample ActivitySampler::sample_without(const std::set<ProcessId>& excluded,
                                                 ProcessId root, TimePoint now) const {
  host::TreeSample sample = host::sample_tree(root, now, table_);
  std::erase_if(sample.processes, [&](const host::ProcessSample& process) {
    return excluded.contains(process.facts.id);
  });
  leave_out_rays_own(sample);
  return sample;
}

const host::SocketTraffic& ActivitySampler::traffic_at(TimePoint now) {
  if (traffic_asked_ != now) traffic_ = host::socket_traffic();
  traffic_asked_ = now;
  return traffic_;
}

std::optional<host::ActivitySeen> ActivitySampler::compare(Looks& looks, host::TreeSample newest) {
  auto seen = compare_looks(looks.older, looks.newer, newest);
  if (!seen || seen->activity == Activity::idling || seen->activity == Activity::quiet) {
    host::add_traffic(newest, traffic_at(newest.at));
    seen = compare_looks(looks.older, looks.newer, newest);
  }
  if (!looks.newer || newest.at - looks.newer->at >= kApart)
    looks.older = std::exchange(looks.newer, std::move(newest));
  return seen;
}

}  // namespace safelaunch::watch
