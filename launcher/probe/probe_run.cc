#include "safelaunch/probe/probe_run.h"

#include <algorithm>

namespace safelaunch {
namespace {

/// After a failure the other ranks have so long to fail too: the one that tells the cause is not
/// always the first.
constexpr Duration kSettle{300};

/// To take a communicator down.
constexpr Duration kEndGrace{2'000};

}  // namespace

ProbeRun::ProbeRun(int ranks, const ProbeLimits& limits, TimePoint now)
    : ranks_(static_cast<std::size_t>(ranks)),
      limits_(limits),
      deadline_(now + limits[ProbePhase::driver]) {}

std::vector<ProbeAction> ProbeRun::on(const ProbeEvent& event, TimePoint now) {
  return std::visit([&](const auto& happened) { return take(happened, now); }, event);
}

ProbeRun::Actions ProbeRun::take(const RankReported& event, TimePoint now) {
  RankState& rank = ranks_[static_cast<std::size_t>(event.rank)];
  const bool expected = static_cast<int>(event.report.phase) == rank.phases_done;
  const bool listening = state_ == State::running || state_ == State::settling;
  if (!listening || rank.failed || !expected) return {};
  switch (event.report.result) {
    case PhaseResult::done: return phase_done(rank, event, now);
    case PhaseResult::declined: return untold(event.report.words, now);
    case PhaseResult::failed: break;
  }
  failed(event.rank, event.report.phase, event.report.words, now);
  return {};
}

ProbeRun::Actions ProbeRun::phase_done(RankState& rank, const RankReported& event, TimePoint now) {
  const PhaseReport& report = event.report;
  const int front = last_phases_done();
  rank.ms[static_cast<std::size_t>(report.phase)] = report.ms;
  rank.gb_per_s = report.gb_per_s.value_or(0);
  ++rank.phases_done;
  Actions actions;
  if (report.phase == ProbePhase::unique_id && event.rank == 0) actions = {HandOutId{report.id}};
  const int reached = last_phases_done();
  if (state_ != State::running || reached == front) return actions;
  if (reached < kProbePhaseCount) {
    deadline_ = now + limits_[static_cast<ProbePhase>(reached)];
    return actions;
  }
  state_ = State::ending;
  deadline_ = now + kEndGrace;
  actions.emplace_back(LetRanksEnd{});
  return actions;
}

void ProbeRun::failed(int rank, ProbePhase phase, const std::string& words, TimePoint now) {
  ranks_[static_cast<std::size_t>(rank)].failed = true;
  failures_.push_back({rank, phase, words});
  if (state_ != State::running) return;
  state_ = State::settling;
  deadline_ = now + kSettle;
}

ProbeRun::Actions ProbeRun::take(const ProbeRankEnded& event, TimePoint now) {
  RankState& rank = ranks_[static_cast<std::size_t>(event.rank)];
  rank.ended = true;
  const bool too_early = state_ == State::running || state_ == State::settling;
  if (too_early && !rank.failed)
    failed(event.rank, static_cast<ProbePhase>(std::min(rank.phases_done, kProbePhaseCount - 1)),
           event.how, now);
  if (!std::all_of(ranks_.begin(), ranks_.end(), [](const RankState& r) { return r.ended; }))
    return {};
  state_ = State::done;
  deadline_.reset();
  return {ProbeDone{}};
}

ProbeRun::Actions ProbeRun::take(const ProbeUnwanted& event, TimePoint now) {
  return untold(event.why, now);
}

ProbeRun::Actions ProbeRun::untold(const std::string& why, TimePoint now) {
  if (state_ != State::running) return {};
  untold_ = ProbeUntold{why};
  return abort(now);
}

ProbeRun::Actions ProbeRun::take(const ProbeTimePassed&, TimePoint now) {
  if (!deadline_ || now < *deadline_) return {};
  switch (state_) {
    case State::running: hung_ = hung(); return abort(now);
    case State::settling: return abort(now);
    case State::ending:
    case State::aborting: break;
    case State::killing:
    case State::done: return {};
  }
  state_ = State::killing;
  deadline_.reset();
  return {KillRanks{}};
}

ProbeRun::Actions ProbeRun::abort(TimePoint now) {
  state_ = State::aborting;
  deadline_ = now + limits_.abort_grace;
  return {AbortRanks{}};
}

int ProbeRun::last_phases_done() const {
  return std::min_element(
             ranks_.begin(), ranks_.end(),
             [](const auto& a, const auto& b) { return a.phases_done < b.phases_done; })
      ->phases_done;
}

ProbeHung ProbeRun::hung() const {
  const int front = last_phases_done();
  ProbeHung result{static_cast<ProbePhase>(front), {}};
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (ranks_[i].phases_done == front) result.ranks.push_back(static_cast<int>(i));
  return result;
}

double ProbeRun::shortest(ProbePhase phase) const {
  double result = ranks_.front().ms[static_cast<std::size_t>(phase)];
  for (const RankState& rank : ranks_)
    result = std::min(result, rank.ms[static_cast<std::size_t>(phase)]);
  return result;
}

ProbeWorks ProbeRun::works() const {
  double slowest = ranks_.front().gb_per_s;
  for (const RankState& rank : ranks_) slowest = std::min(slowest, rank.gb_per_s);
  return {shortest(ProbePhase::init), shortest(ProbePhase::first_all_reduce),
          bus_bandwidth(slowest, static_cast<int>(ranks_.size()))};
}

ProbeVerdict ProbeRun::verdict() const {
  if (!failures_.empty()) return ProbeFailed{failures_};
  if (hung_) return *hung_;
  if (untold_) return *untold_;
  if (last_phases_done() == kProbePhaseCount) return works();
  return ProbeUntold{"the probe has not ended"};
}

}  // namespace safelaunch
