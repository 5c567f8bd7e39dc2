#include "safelaunch/ranks/driver_watch.h"

#include <boost/asio/io_context.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/ranks/rank_events.h"

// A driver that hangs cannot be seen from outside, so a process of its own asks it, and only once
// ranks stand still where they wait for nobody. One silence may be a busy driver. Only a second
// one, without an answer between them and for ranks that still stand, is told.
namespace safelaunch::ranks {

std::vector<Rank> DriverDoubt::suspects(TimePoint now) const {
  std::vector<Rank> ranks;
  for (const auto& [rank, since] : still_since_)
    if (now - since >= patience_) ranks.push_back(rank);
  return ranks;
}

void DriverDoubt::answered() {
  silences_ = 0;
  patience_ *= 2;
}

bool DriverDoubt::silent(const std::vector<Rank>& asked_for, TimePoint now) {
  return ++silences_ >= 2 && suspects(now) == asked_for;
}

namespace {

// Ranks that have rested for minutes are looked at seldom: nobody is in a hurry there.
constexpr Duration kLookOften{1'000};
constexpr Duration kLookSeldom{10'000};

constexpr const char* kDriver = "libcuda.so";

bool waits_for_others(const watch::RankState& rank) {
  return rank.entered(Stage::rendezvous) || rank.entered(Stage::group) ||
         rank.entered(Stage::communicator);
}

}  // namespace

void DriverWatch::begin(Environment environment) {
  if (limits_.still == Duration::zero() || limits_.answer == Duration::zero()) return;
  environment.erase("RANK");  // or it would be looked upon as a rank itself
  environment_ = std::move(environment);
  watching_ = true;
  look_later();
}

void DriverWatch::end() {
  timer_.cancel();
  question_.reset();
  watching_ = false;
}

void DriverWatch::look_later() {
  timer_.set_after(doubt_.looks_seldom() ? kLookSeldom : kLookOften, [this] {
    if (watching_) look();
  });
}

// Not before the first look, which short jobs do not live to see.
bool DriverWatch::find_means() {
  if (gpu::find_library("libcuda.so.1", environment_).empty()) return false;
  const Result<std::string> program = launch::find_probe_program(environment_);
  if (program)
    program_ = *program;
  else
    log_debug(program.error().message);
  return program.has_value();
}

void DriverWatch::look() {
  if (program_.empty() && !find_means()) return end();
  const TimePoint now = Clock::now();
  for (const auto& [rank, state] : ranks_) {
    if (waits_for_others(state)) return end();  // its clocks run from now on
    if (state.known() && !state.process()->is_here()) continue;
    note(rank, state, now);
  }
  if (const std::vector<Rank> still = doubt_.suspects(now); !still.empty() && !question_)
    ask(still);
  look_later();
}

void DriverWatch::note(Rank rank, const watch::RankState& state, TimePoint now) {
  const bool alive = state.alive();
  bool& has_driver = has_driver_[state.process().value_or(ProcessId{})];
  if (alive && !has_driver) has_driver = host::maps_contain(state.process()->pid, kDriver);
  if (!alive || !has_driver) return doubt_.moves(rank);
  const auto seen = sampler_.look(rank, *state.process(), now);
  if (!seen) return;
  const bool still = seen->activity == Activity::quiet || seen->activity == Activity::idling;
  if (still)
    doubt_.stands_still(rank, now);
  else
    doubt_.moves(rank);
}

void DriverWatch::ask(const std::vector<Rank>& ranks) {
  auto started = launch::Helper::start(
      services_.io, services_.reaper, {{program_, "driver"}, environment_, limits_.answer},
      [](std::string_view) {}, [this, ranks](const launch::HelperEnd& end) { heard(ranks, end); });
  if (!started) return log_debug(started.error().message);
  question_.emplace(std::move(*started));
}

void DriverWatch::heard(const std::vector<Rank>& ranks, const launch::HelperEnd& end) {
  question_.reset();
  if (!watching_) return;
  if (!end.timed_out) return doubt_.answered();
  if (!doubt_.silent(ranks, Clock::now())) return;
  on_silent_(
      {ranks, fmt::format("{} {} still with the CUDA driver loaded, and the driver did not answer "
                          "safelaunch's own process either, twice within {}",
                          rank_list(ranks), ranks.size() == 1 ? "stands" : "stand",
                          describe_duration(limits_.answer))});
}

}  // namespace safelaunch::ranks
