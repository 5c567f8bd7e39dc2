#include "safelaunch/host/standing.h"

#include <algorithm>

namespace safelaunch::host {
namespace {

/// A loop that looks for a file ten times a second uses a thousandth of a CPU.
constexpr double kMostCores = 0.01;
constexpr double kMostBytesPerSecond = 4096;

bool is_new(const ProcessSample& process, const TreeSample& before) {
  return std::ranges::none_of(
      before.processes, [&](const ProcessSample& one) { return one.facts.id == process.facts.id; });
}

// A shell's retry loop starts a new sleep every time.
bool has_started_something(const TreeSample& before, const TreeSample& after) {
  return std::ranges::any_of(after.processes, [&](const ProcessSample& process) {
    return process.facts.comm != "sleep" && is_new(process, before);
  });
}

struct Used {
  double seconds = 0;
  double bytes = 0;
};

Used used_by(const TreeSample& tree) {
  Used used;
  for (const ProcessSample& process : tree.processes) {
    used.seconds += std::chrono::duration<double>(process.facts.cpu).count();
    used.bytes += static_cast<double>(process.io_bytes);
  }
  return used;
}

}  // namespace

std::optional<std::string> stood_still(const TreeSample& before, const TreeSample& after) {
  if (before.processes.empty() || after.processes.empty() || has_started_something(before, after))
    return std::nullopt;
  const double elapsed = std::chrono::duration<double>(after.at - before.at).count();
  const Used then = used_by(before);
  const Used now = used_by(after);
  if (now.seconds - then.seconds > kMostCores * elapsed ||
      now.bytes - then.bytes > kMostBytesPerSecond * elapsed)
    return std::nullopt;
  const ActivitySeen seen = classify(before, after);
  if (seen.activity != Activity::quiet && seen.activity != Activity::idling) return std::nullopt;
  return seen.doing;
}

}  // namespace safelaunch::host
