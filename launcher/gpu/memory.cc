#include "safelaunch/gpu/memory.h"
#include "safelaunch/base/alarm.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>

#include "safelaunch/base/format.h"

// A GPU's memory is charged to its processes as far as the driver lists them; the rest is held by
// somebody whom we cannot see. To wait for memory is to compare two readings, GPU by GPU; memory of
// processes that were there before counts in neither of them.
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

/// A monitor that comes and goes may have a context of this size more or less.
constexpr int kSlackMib = 64;

const Gpu* same_gpu(const Facts& facts, const Gpu& gpu) {
  const auto found = std::ranges::find(facts.gpus, gpu.uuid, &Gpu::uuid);
  return found == facts.gpus.end() ? nullptr : &*found;
}

/// MiB: less is what a driver keeps for itself, or a desktop.
constexpr int kWorthAWord = 512;

std::vector<int> pids_on(const Gpu& gpu) {
  std::vector<int> pids;
  for (const auto& process : gpu.processes) pids.push_back(process.pid);
  return pids;
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

bool computes_for_nobody(const Gpu& gpu) {
  constexpr int kBusyPercent = 90;  // a kernel that never ends is seen at all moments
  return gpu.busy_percent.value_or(0) >= kBusyPercent && gpu.processes.empty() &&
         gpu.used_mib < kWorthAWord;
}

Drain judge_drain(const Facts& before, const Facts& now, Duration waited, Duration bound) {
  if (before.gpus.empty()) return {};
  if (now.gpus.empty()) return {Drain::State::given_up, now.why};
  for (const Gpu& gpu : now.gpus) {
    const Gpu* former = same_gpu(before, gpu);
    if (former == nullptr) continue;
    const auto there_before = pids_on(*former);
    const auto held = held_by_others(gpu, there_before);
    if (held.mib > held_by_others(*former, there_before).mib + kSlackMib)
      return {waited < bound ? Drain::State::waiting : Drain::State::given_up,
              fmt::format("{} MiB of GPU {} are still in use by {}", held.mib, gpu.index,
                          held.holders)};
    if (computes_for_nobody(gpu) && !computes_for_nobody(*former))
      return {waited < std::min(bound, kIdleBound) ? Drain::State::waiting : Drain::State::stuck,
              fmt::format("GPU {} computes ({} %) although no process is on it any more; a kernel "
                          "of the ended attempt hangs there until the administrator resets it: "
                          "nvidia-smi --gpu-reset -i {}",
                          gpu.index, *gpu.busy_percent, gpu.index)};
  }
  return {};
}

/// Handlers hold the state weakly, so a destroyed wait gets no call.
struct DrainWait::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& loop, launch::Reaper& processes, Query asked, Facts former,
        OnDrained then, Duration limit)
      : io(loop),
        reaper(processes),
        query(std::move(asked)),
        before(std::move(former)),
        on_drained(std::move(then)),
        bound(limit),
        pause(io) {}

  void ask();
  void judge(const Facts& now);

  boost::asio::io_context& io;
  launch::Reaper& reaper;
  Query query;
  Facts before;
  OnDrained on_drained;
  Duration bound;
  TimePoint began = Clock::now();
  Alarm pause;
  std::optional<Reading> reading;
};

void DrainWait::State::ask() {
  reading.emplace(io, reaper, query, [weak = weak_from_this()](const Facts& now) {
    if (const auto state = weak.lock()) state->judge(now);
  });
}

void DrainWait::State::judge(const Facts& now) {
  constexpr Duration kBetween{250};  // a driver needs as long for its answer
  const auto waited = std::chrono::duration_cast<Duration>(Clock::now() - began);
  const Drain drain = judge_drain(before, now, waited, bound);
  if (drain.state != Drain::State::waiting) return on_drained(drain);
  pause.set_after(kBetween, [this] { ask(); });
}

DrainWait::DrainWait(boost::asio::io_context& io, launch::Reaper& reaper, Query query, Facts before,
                     OnDrained on_drained, Duration bound)
    : state_(std::make_shared<State>(io, reaper, std::move(query), std::move(before),
                                     std::move(on_drained), bound)) {
  if (state_->before.gpus.empty())
    boost::asio::post(io, [weak = std::weak_ptr(state_)] {
      if (const auto state = weak.lock()) state->on_drained({});
    });
  else
    state_->ask();
}

DrainWait::DrainWait(DrainWait&&) noexcept = default;
DrainWait& DrainWait::operator=(DrainWait&&) noexcept = default;
DrainWait::~DrainWait() = default;
}  // namespace safelaunch::gpu
