#include "safelaunch/ranks/usage_watch.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <limits>

#include "safelaunch/host/process_facts.h"

// A figure of CPU is the share between two looks, and at the first since the rank began. GPUs are
// asked only once a rank has loaded the driver, by a process of its own (gpu/reader.h).
namespace safelaunch::ranks {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

constexpr auto kShortest = 2s;  // the shortest time between two looks
constexpr int kShareOfAge = 16;
constexpr auto kGpusShortest = 20s;
constexpr int kGpusShareOfAge = 8;
constexpr auto kWakesFirst = 1min;
constexpr auto kWakesAtLeast = 1h;
constexpr auto kApart = 500ms;  // closer looks show chance
constexpr std::size_t kMostRanks = 1'024;
constexpr std::int64_t kMostCounted = std::numeric_limits<int>::max();

constexpr const char* kDriverFile = "/libcuda.so";

int mebibytes_of(std::uint64_t bytes) {
  return static_cast<int>(bytes >> 20U);
}

}  // namespace

// A share of the age, so that a job's figures stay a few hundred however long it runs.
bool UsageClock::is_due(TimePoint now) const {
  return now - last_ >= std::max<TimePoint::duration>(kShortest, (last_ - begin_) / kShareOfAge);
}

TimePoint UsageClock::wake_at() const {
  return last_ + std::clamp<TimePoint::duration>(last_ - begin_, kWakesFirst, kWakesAtLeast);
}

bool UsageClock::are_gpus_due(TimePoint now) const {
  return now - asked_ >=
         std::max<TimePoint::duration>(kGpusShortest, (asked_ - begin_) / kGpusShareOfAge);
}

report::record::Gpus gpus_event(const gpu::Facts& facts, const std::map<int, Rank>& ranks) {
  report::record::Gpus event;
  std::map<Rank, int> held;
  for (const gpu::Gpu& gpu : facts.gpus) {
    event.gpu.push_back(gpu.index);
    event.used.push_back(gpu.used_mib);
    event.size.push_back(gpu.memory_mib);
    event.busy.push_back(gpu.busy_percent.value_or(-1));
    for (const gpu::Process& process : gpu.processes)
      if (const auto rank = ranks.find(process.pid); rank != ranks.end() && process.mib)
        held[rank->second] += *process.mib;
  }
  for (const auto& [rank, mib] : held) {
    event.ranks.push_back(rank.value);
    event.held.push_back(mib);
  }
  return event;
}

void UsageWatch::begin(Environment environment) {
  environment_ = std::move(environment);
  clock_.emplace(Clock::now());
}

void UsageWatch::end() {
  clock_.reset();
  timer_.cancel();
  question_.reset();
}

void UsageWatch::look() {
  if (!clock_) return;
  const TimePoint now = Clock::now();
  if (clock_->is_due(now)) return take(now);
  // Without any rank there is nothing to measure, so a job that shows none never wakes us for it.
  if (!armed_ && !ranks_.empty()) wake_later();
}

// Figures of a moment ago are the last ones already.
void UsageWatch::look_at_the_end() {
  if (!clock_) return;
  const TimePoint now = Clock::now();
  const bool fresh =
      std::ranges::any_of(before_, [&](const auto& one) { return now - one.second.at < kApart; });
  if (!fresh) take(now);
}

void UsageWatch::take(TimePoint now) {
  clock_->taken(now);
  report::record::Usage event;
  std::map<ProcessId, host::TreeUsage> before = std::exchange(before_, {});
  ranks_of_processes_.clear();
  for (const auto& [rank, state] : ranks_) {
    if (event.ranks.size() == kMostRanks) break;
    const auto usage = state.alive() ? host::usage_of(*state.process(), now, table_) : std::nullopt;
    if (!usage) continue;
    const auto known = before.find(*state.process());
    event.ranks.push_back(rank.value);
    event.cpu.push_back(known == before.end() ? host::cpu_percent(*usage)
                                              : host::cpu_percent(known->second, *usage));
    event.memory.push_back(mebibytes_of(usage->memory));
    event.children.push_back(mebibytes_of(usage->children));
    const auto counted = collectives_.find(rank);
    event.collectives.push_back(counted == collectives_.end()
                                    ? -1
                                    : static_cast<int>(std::min(counted->second, kMostCounted)));
    for (const int pid : usage->pids) ranks_of_processes_[pid] = rank;
    before_.insert_or_assign(*state.process(), *usage);
  }
  if (event.ranks.empty()) return;
  services_.log.record(event);
  if (clock_->are_gpus_due(now)) ask_gpus(now);
  wake_later();
}

void UsageWatch::wake_later() {
  armed_ = true;
  timer_.set(clock_->wake_at(), [this] {
    if (clock_) take(Clock::now());
  });
}

// The mappings are read until one rank has the driver; from then on the answer stays.
bool UsageWatch::uses_a_gpu() {
  has_gpu_ = has_gpu_ || std::ranges::any_of(before_, [](const auto& one) {
               return host::maps_contain(one.first.pid, kDriverFile);
             });
  return has_gpu_;
}

void UsageWatch::ask_gpus(TimePoint now) {
  clock_->asked_gpus(now);
  if (!uses_a_gpu()) return;
  question_.emplace(services_.io, services_.reaper, gpu::Query{environment_},
                    [this](const gpu::Facts& facts) {
                      if (!facts.gpus.empty())
                        services_.log.record(gpus_event(facts, ranks_of_processes_));
                    });
}

}  // namespace safelaunch::ranks
