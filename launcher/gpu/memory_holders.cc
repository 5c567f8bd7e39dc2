#include "safelaunch/gpu/memory_holders.h"

#include <algorithm>

#include "safelaunch/base/format.h"

namespace safelaunch::gpu {
namespace {

bool is_among(std::span<const int> pids, int pid) {
  return std::ranges::find(pids, pid) != pids.end();
}

int listed_mib(const Gpu& gpu) {
  int mib = 0;
  for (const auto& process : gpu.processes) mib += process.mib.value_or(0);
  return mib;
}

std::string described(const Process& process) {
  return process.mib ? fmt::format("pid {} ({} MiB)", process.pid, *process.mib)
                     : fmt::format("pid {}", process.pid);
}

/// Joins the holders for a sentence: "a", "a and b", "a, b and 3 more".
std::string described(const std::vector<Process>& processes) {
  constexpr std::size_t kNamed = 3;
  const std::size_t named = std::min(processes.size(), kNamed);
  std::string text;
  for (std::size_t i = 0; i < named; ++i)
    text += (i == 0 ? "" : i + 1 == processes.size() ? " and " : ", ") + described(processes[i]);
  if (processes.size() > named) text += fmt::format(" and {} more", processes.size() - named);
  return text;
}

}  // namespace

std::vector<Process> others_on(const Gpu& gpu, std::span<const int> own) {
  std::vector<Process> others;
  for (const auto& process : gpu.processes)
    if (!is_among(own, process.pid)) others.push_back(process);
  return others;
}

HeldMemory held_by_others(const Gpu& gpu, std::span<const int> own) {
  const auto others = others_on(gpu, own);
  HeldMemory held;
  held.mib = gpu.used_mib;
  for (const auto& process : gpu.processes)
    if (is_among(own, process.pid)) held.mib -= process.mib.value_or(0);
  held.mib = std::max(0, held.mib);
  held.holders = others.empty() ? "processes that are not listed here" : described(others);
  return held;
}

std::vector<MemoryHolding> memory_holdings(const Facts& facts) {
  std::vector<MemoryHolding> holdings;
  for (const Gpu& gpu : facts.gpus)
    for (const auto& process : gpu.processes)
      holdings.push_back(
          {process.pid, process.mib ? fmt::format("{} MiB of GPU {}", *process.mib, gpu.index)
                                    : fmt::format("memory of GPU {}", gpu.index)});
  return holdings;
}

std::vector<std::string> memory_without_holder(const Facts& facts) {
  constexpr int kWorthAWord = 512;
  std::vector<std::string> texts;
  for (const Gpu& gpu : facts.gpus) {
    // A process whose share is not told may hold all of the memory.
    const auto unknown = [](const Process& process) { return !process.mib; };
    const int mib = gpu.used_mib - listed_mib(gpu);
    if (mib >= kWorthAWord && std::ranges::none_of(gpu.processes, unknown))
      texts.push_back(fmt::format("{} MiB of GPU {}", mib, gpu.index));
  }
  return texts;
}

}  // namespace safelaunch::gpu
