#include "safelaunch/watch/activity_sampler.h"

#include <utility>

namespace safelaunch {
namespace {

using namespace std::chrono_literals;

// Closer looks than this show chance, not activity: a tick that comes early for a deadline is
// compared with the look before the last.
constexpr auto kApart = 500ms;

// Under strace or py-spy a healthy process is found in a tracing stop time and again, and one that
// a debugger holds is in somebody's hands: neither is abandoned.
ActivitySeen without_tracing_stops(ActivitySeen seen, const TreeSample& tree) {
  if (tree.processes.front().facts.state == 't') seen.activity = Activity::idling;
  return seen;
}

}  // namespace

std::optional<ActivitySeen> compare_looks(const std::optional<TreeSample>& older,
                                          const std::optional<TreeSample>& newer,
                                          const TreeSample& newest) {
  if (newest.processes.empty()) return std::nullopt;
  const auto* base = newer && newest.at - newer->at >= kApart ? &newer : &older;
  const bool comparable = *base && !(*base)->processes.empty();
  ActivitySeen seen = classify(comparable ? **base : newest, newest);
  seen = without_tracing_stops(std::move(seen), newest);
  if (!comparable && seen.activity != Activity::stopped) return std::nullopt;
  return seen;
}

std::optional<RankActivity> ActivitySampler::look(Rank rank, ProcessId process, TimePoint now) {
  TreeSample newest = sample_tree(process, now, table_);
  Looks& looks = looks_[process];
  const auto seen = compare_looks(looks.older, looks.newer, newest);
  if (!looks.newer || newest.at - looks.newer->at >= kApart)
    looks.older = std::exchange(looks.newer, std::move(newest));
  if (!seen) return std::nullopt;
  return RankActivity{rank, process, seen->activity, seen->doing};
}

}  // namespace safelaunch
