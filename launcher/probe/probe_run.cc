#include "safelaunch/probe/probe_run.h"

#include <algorithm>
#include <utility>

// Phases are counted, not named: a rank is as far as the number of phases that it has done, and the
// last rank of all decides which deadline runs. The first verdict stands, because the words of
// ranks that were told to abort say nothing new.
namespace safelaunch::probe {
namespace {

/// After a failure the other ranks have so long to fail too: the one that tells the cause is not
/// always the first.
constexpr Duration kSettle{300};

/// To take a communicator down.
constexpr Duration kEndGrace{2'000};

}  // namespace

Run::Run(int ranks, const Limits& limits, TimePoint now, const Part& part)
    : ranks_(static_cast<std::size_t>(ranks)),
      limits_(limits),
      part_(part),
      deadline_(now + limits[Phase::driver]) {}

std::vector<Action> Run::on(const Event& event, TimePoint now) {
  return std::visit([&](const auto& happened) { return take(happened, now); }, event);
}

Run::Actions Run::take(const RankReported& event, TimePoint now) {
  RankState& rank = ranks_[static_cast<std::size_t>(event.rank)];
  // The lines come from a process with a driver that may be sick, so a phase out of its order says
  // nothing.
  const bool expected = static_cast<int>(event.report.phase) == rank.phases_done;
  const bool listening = is_open() || state_ == State::settling;
  if (!listening || rank.failed || !expected) return {};
  switch (event.report.result) {
    case PhaseResult::done:
      if (lacks_id(event)) return failed(event.rank, Phase::unique_id, "it made no unique id", now);
      return phase_done(rank, event, now);
    case PhaseResult::declined: return untold(event.report.words, now);
    case PhaseResult::failed: break;
  }
  return failed(event.rank, event.report.phase, event.report.words, now);
}

// Without rank 0's id all others would wait, and would seem to hang.
bool Run::lacks_id(const RankReported& event) const {
  return event.report.phase == Phase::unique_id && part_.first + event.rank == 0 &&
         !is_unique_id(event.report.id);
}

Run::Actions Run::phase_done(RankState& rank, const RankReported& event, TimePoint now) {
  const PhaseReport& report = event.report;
  const int front = last_phases_done();
  rank.ms[static_cast<std::size_t>(report.phase)] = report.ms;
  rank.gb_per_s = report.gb_per_s.value_or(0);
  ++rank.phases_done;
  Actions actions;
  if (report.phase == Phase::unique_id && part_.first + event.rank == 0) {
    id_ = report.id;
    if (!part_.has_others()) actions = {HandOutId{id_}};
  }
  if (state_ != State::running) return actions;
  if (part_.has_others() && !told_ready_ && is_ready()) {
    told_ready_ = true;
    deadline_.reset();
    return {TellReady{id_}};
  }
  const int reached = last_phases_done();
  // The deadline moves only when the last rank comes into a new phase. While other nodes are
  // awaited there is none.
  if (reached == front || (told_ready_ && !met_)) return actions;
  if (reached == kProbePhaseCount) return all_measured(now);
  deadline_ = now + limits_[static_cast<Phase>(reached)];
  return actions;
}

// Rank 0 makes the id; nobody else can go on without it.
bool Run::is_ready() const {
  const int before_id = static_cast<int>(Phase::unique_id);
  if (part_.first == 0 && ranks_.front().phases_done <= before_id) return false;
  return last_phases_done() >= before_id;
}

Run::Actions Run::all_measured(TimePoint now) {
  if (!part_.has_others()) return let_ranks_end(now);
  state_ = State::measured;
  deadline_.reset();
  return {TellMeasured{}};
}

Run::Actions Run::let_ranks_end(TimePoint now) {
  state_ = State::ending;
  deadline_ = now + kEndGrace;
  return {LetRanksEnd{}};
}

Run::Actions Run::take(const IdCame& event, TimePoint now) {
  if (!told_ready_ || std::exchange(met_, true) || !is_open()) return {};
  deadline_ = now + limits_[static_cast<Phase>(last_phases_done())];
  return {HandOutId{event.id}};
}

/// Where ranks of another node have failed, ours get a moment to fail with words of their own,
/// since these may show the cause. Without such words the verdict says how far ours were.
Run::Actions Run::take(const OthersOver&, TimePoint now) {
  if (state_ == State::measured) return let_ranks_end(now);
  if (state_ != State::running) return {};
  hung_ = hung();
  cut_short_ = true;
  settle(now);
  return {};
}

void Run::settle(TimePoint now) {
  state_ = State::settling;
  deadline_ = now + kSettle;
}

bool Run::is_open() const {
  return state_ == State::running || state_ == State::measured;
}

Run::Actions Run::failed(int rank, Phase phase, const std::string& words, TimePoint now) {
  ranks_[static_cast<std::size_t>(rank)].failed = true;
  failures_.push_back({rank, phase, words});
  if (!is_open()) return {};
  settle(now);
  return tell(Trouble::failed);
}

Run::Actions Run::tell(Trouble trouble) const {
  if (!part_.has_others()) return {};
  return {TellTrouble{trouble}};
}

/// A rank may end after its last phase before it was told to; then that phase is the one that
/// failed.
Run::Actions Run::take(const RankEnded& event, TimePoint now) {
  RankState& rank = ranks_[static_cast<std::size_t>(event.rank)];
  rank.ended = true;
  const bool too_early = is_open() || state_ == State::settling;
  Actions actions;
  if (too_early && !rank.failed)
    actions =
        failed(event.rank, static_cast<Phase>(std::min(rank.phases_done, kProbePhaseCount - 1)),
               event.how, now);
  if (!std::all_of(ranks_.begin(), ranks_.end(), [](const RankState& r) { return r.ended; }))
    return actions;
  state_ = State::done;
  deadline_.reset();
  actions.emplace_back(Done{});
  return actions;
}

Run::Actions Run::take(const Unwanted& event, TimePoint now) {
  return untold(event.why, now);
}

Run::Actions Run::untold(const std::string& why, TimePoint now) {
  if (!is_open()) return {};
  untold_ = Untold{why};
  return abort(now);
}

Run::Actions Run::take(const TimePassed&, TimePoint now) {
  if (!deadline_ || now < *deadline_) return {};
  switch (state_) {
    case State::running: return give_up(now);
    case State::settling: return abort(now);
    case State::ending:
    case State::aborting: break;
    case State::measured:
    case State::killing:
    case State::done: return {};
  }
  state_ = State::killing;
  deadline_.reset();
  return {KillRanks{}};
}

Run::Actions Run::give_up(TimePoint now) {
  hung_ = hung();
  Actions actions = tell(Trouble::hung);
  for (Action& action : abort(now)) actions.push_back(std::move(action));
  return actions;
}

Run::Actions Run::abort(TimePoint now) {
  state_ = State::aborting;
  deadline_ = now + limits_.abort_grace;
  return {AbortRanks{}};
}

int Run::last_phases_done() const {
  return std::min_element(
             ranks_.begin(), ranks_.end(),
             [](const auto& a, const auto& b) { return a.phases_done < b.phases_done; })
      ->phases_done;
}

Hung Run::hung() const {
  const int front = last_phases_done();
  Hung result{static_cast<Phase>(front), {}};
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (ranks_[i].phases_done == front) result.ranks.push_back(static_cast<int>(i));
  return result;
}

/// The rank that came last waited for nobody, so its time is that of the phase itself.
double Run::shortest(Phase phase) const {
  double result = ranks_.front().ms[static_cast<std::size_t>(phase)];
  for (const RankState& rank : ranks_)
    result = std::min(result, rank.ms[static_cast<std::size_t>(phase)]);
  return result;
}

Works Run::works() const {
  double slowest = ranks_.front().gb_per_s;
  for (const RankState& rank : ranks_) slowest = std::min(slowest, rank.gb_per_s);
  return {shortest(Phase::init), shortest(Phase::first_all_reduce),
          bus_bandwidth(slowest, part_.has_others() ? part_.all : static_cast<int>(ranks_.size()))};
}

Verdict Run::verdict() const {
  if (!failures_.empty()) return Failed{failures_};
  if (hung_) return *hung_;
  if (untold_) return *untold_;
  if (last_phases_done() == kProbePhaseCount) return works();
  return Untold{"the probe has not ended"};
}

}  // namespace safelaunch::probe
