#include "live_ranks.h"

#include <algorithm>
#include <thread>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/format.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/stacks/look.h"

// The ranks are those that the environments below safelaunch name. A number that the script chooses
// for itself (torch.multiprocessing) is in the record alone, and is not told here.
namespace safelaunch::cli {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kBetweenLooks = 500ms;
constexpr auto kGpusEvery = 10s;  // each question is a process, and a slow driver takes a second
constexpr const char* kDriver = "/libcuda.so";

}  // namespace

void LiveRanks::look(report::RunStatus& status) {
  const bool first = seen_.empty();
  look_once(status);
  if (seen_.empty()) return;
  if (first) {
    std::this_thread::sleep_for(kBetweenLooks);
    look_once(status);
  }
  look_at_gpus();
  tell(status);
}

void LiveRanks::look_once(const report::RunStatus& status) {
  std::map<ProcessId, Seen> before = std::exchange(seen_, {});
  ranks_.clear();
  for (const auto& [rank, process] : stacks::ranks_below(status.process)) {
    const TimePoint now = Clock::now();
    auto usage = host::usage_of(process, now, table_);
    if (!usage) continue;
    Seen seen{std::move(*usage), {}};
    seen.figures.pid = process.pid;
    seen.figures.memory = seen.usage.memory;
    seen.figures.children = seen.usage.children;
    if (const auto known = before.find(process); known != before.end())
      seen.figures.cpu = host::cpu_percent(known->second.usage, seen.usage);
    if (const auto activity = sampler_.look(rank, process, now))
      seen.figures.doing = fmt::format("{}: {}", name(activity->activity), activity->doing);
    ranks_.emplace(rank.value, process);
    seen_.emplace(process, std::move(seen));
  }
}

void LiveRanks::look_at_gpus() {
  const TimePoint now = Clock::now();
  if (asked_gpus_ && now - *asked_gpus_ < kGpusEvery) return;
  asked_gpus_ = now;
  gpus_.clear();
  held_.clear();
  const auto environment = host::environment_of(seen_.begin()->first.pid);
  const bool uses_gpus = std::ranges::any_of(
      seen_, [](const auto& one) { return host::maps_contain(one.first.pid, kDriver); });
  if (!environment || !uses_gpus) return;
  for (const gpu::Gpu& gpu : gpu::read_gpu_facts({*environment}).gpus) {
    gpus_.push_back({gpu.index, gpu.used_mib, gpu.memory_mib, gpu.busy_percent});
    for (const gpu::Process& process : gpu.processes)
      if (process.mib) held_[process.pid] += *process.mib;
  }
}

void LiveRanks::tell(report::RunStatus& status) const {
  status.gpus = gpus_;
  for (const auto& [rank, process] : ranks_) {
    const Seen& seen = seen_.at(process);
    report::RankFigures& figures = status.figures[rank] = seen.figures;
    for (const int pid : seen.usage.pids)
      if (const auto held = held_.find(pid); held != held_.end())
        figures.gpu_mib = figures.gpu_mib.value_or(0) + held->second;
  }
}

}  // namespace safelaunch::cli
