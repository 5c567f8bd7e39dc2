#include "safelaunch/gpu/drain.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "safelaunch/base/format.h"
#include "safelaunch/gpu/memory_holders.h"

namespace safelaunch::gpu {
namespace {

/// A monitor that comes and goes may have a context of this size more or less.
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
  boost::asio::steady_timer pause;
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
  pause.expires_after(kBetween);
  pause.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto state = weak.lock();
    if (state && !cancelled) state->ask();
  });
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
