#include "safelaunch/gpu/drain.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/gpu/memory_holders.h"

namespace safelaunch::gpu {
namespace {

/// A context more or less of a monitor that comes and goes.
constexpr int kSlackMib = 64;

const Gpu* same_gpu(const Facts& facts, const Gpu& gpu) {
  const auto found = std::ranges::find(facts.gpus, gpu.uuid, &Gpu::uuid);
  return found == facts.gpus.end() ? nullptr : &*found;
}

std::vector<int> pids_on(const Gpu& gpu) {
  std::vector<int> pids;
  for (const auto& process : gpu.processes) pids.push_back(process.pid);
  return pids;
}

}  // namespace

Drain judge_drain(const Facts& before, const Facts& now, Duration waited, Duration bound) {
  if (before.gpus.empty()) return {};
  if (now.gpus.empty()) return {Drain::State::given_up, now.why};
  for (const Gpu& gpu : now.gpus) {
    const Gpu* former = same_gpu(before, gpu);
    if (former == nullptr) continue;
    const auto there_before = pids_on(*former);
    const auto held = held_by_others(gpu, there_before);
    if (held.mib <= held_by_others(*former, there_before).mib + kSlackMib) continue;
    return {
        waited < bound ? Drain::State::waiting : Drain::State::given_up,
        fmt::format("{} MiB of GPU {} are still in use by {}", held.mib, gpu.index, held.holders)};
  }
  return {};
}

}  // namespace safelaunch::gpu
