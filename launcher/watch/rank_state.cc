#include "safelaunch/watch/rank_state.h"

#include <algorithm>

#include "safelaunch/base/failure.h"

// A process takes a rank from another only by stronger evidence, and then begins from nothing;
// the one before is kept as its wrapper, and takes the rank back when the process ends. A stage
// that is reached implies those that it needs. A rank that ended in order has come through
// whatever it was in.
namespace safelaunch::watch {
namespace {

using namespace std::chrono_literals;

// Samples come twice a second while somebody waits. One that has not been renewed for three
// seconds says nothing about now: the process is gone, or /proc is closed to us.
constexpr auto kSampleIsFresh = 3s;

// A wrapper that starts more than a few Pythons of the same rank, one inside the other, is nobody's
// launcher; the list must not grow with a hostile job.
constexpr std::size_t kMostWrappers = 8;

// Jobs make a few dozen groups before they train; the names are the job's own.
constexpr std::size_t kMostGroups = 4'096;

std::size_t calm_index(Activity activity) {
  return static_cast<std::size_t>(activity) - static_cast<std::size_t>(Activity::stopped);
}

// The words of a process that has ended meanwhile come without its start: nobody can look any more.
bool is_process(const std::optional<ProcessId>& known, ProcessId speaks) {
  if (known && speaks.start_ticks == 0) speaks.start_ticks = known->start_ticks;
  return known == speaks;
}

}  // namespace

RankClaim RankState::claim(ProcessId process, RankEvidence evidence, TimePoint now) {
  if (is_process(process_, process)) {
    evidence_ = std::max(evidence_, evidence);
    heard_ = heard_ || evidence >= RankEvidence::hook;
    return RankClaim::held;
  }
  if (alive() && evidence <= evidence_)
    return evidence == RankEvidence::entered ? RankClaim::contested : RankClaim::ignored;
  if (alive() && wrappers_.size() < kMostWrappers) wrappers_.push_back({*process_, evidence_});
  start_over(process, evidence);
  began_at_ = now;
  return RankClaim::taken;
}

void RankState::start_over(ProcessId process, RankEvidence evidence) {
  RankState fresh;
  fresh.process_ = process;
  fresh.evidence_ = evidence;
  fresh.heard_ = evidence >= RankEvidence::hook;
  fresh.wrappers_ = std::move(wrappers_);
  fresh.reached_[index(Stage::spawned)] = true;
  *this = std::move(fresh);
}

void RankState::begin_anew() {
  leave_world();
  const RankState before = *this;
  start_over(*process_, RankEvidence::hook);
  had_collective_ = before.had_collective_;
  worlds_left_ = before.worlds_left_;
}

void RankState::give_back() {
  if (wrappers_.empty()) {
    *this = RankState();
    return;
  }
  const Wrapper wrapper = wrappers_.back();
  wrappers_.pop_back();
  start_over(wrapper.process, wrapper.evidence);
}

void RankState::forget_wrapper(ProcessId process) {
  std::erase_if(wrappers_, [&](const Wrapper& wrapper) { return wrapper.process == process; });
}

void RankState::leave_world() {
  had_collective_ = had_collective();
  if (reached(Stage::group)) ++worlds_left_;
}

void RankState::join_anew() {
  leave_world();
  for (std::size_t i = index(Stage::rendezvous); i < entered_.size(); ++i) {
    entered_[i].reset();
    reached_[i] = false;
    tried_[i] = false;
  }
  claimed_world.reset();
  store.clear();
  forget_group();
  groups_.clear();
}

void RankState::leave(Stage stage, bool device_works) {
  if (reached(stage)) return;
  const bool made_a_group = stage == Stage::communicator && !group.empty();
  if (made_a_group) forget_group();
  if (made_a_group && has_communicator_)
    reached_[index(stage)] = true;
  else
    entered_[index(stage)].reset();
  device_works_ = device_works;
}

void RankState::make_group(const std::string& name, std::vector<Rank> members, TimePoint now) {
  has_communicator_ = reached(Stage::communicator);
  reached_[index(Stage::communicator)] = false;
  entered_[index(Stage::communicator)] = now;
  awaits = std::move(members);
  group = name;
  if (groups_.size() < kMostGroups) groups_.insert(name);
}

void RankState::forget_group() {
  group.clear();
  awaits.clear();
}

void RankState::reach_in_nccl(TimePoint now) {
  if (group.empty()) return reach(Stage::communicator, now);
  has_communicator_ = true;
}

void RankState::enter(Stage stage, TimePoint now) {
  if (stage >= Stage::rendezvous) reach(Stage::imported, now);
  if (stage == Stage::collective) reach(Stage::group, now);
  if (!entered_[index(stage)]) entered_[index(stage)] = now;
  tried_[index(stage)] = true;
  device_works_ = false;
  if (stage == Stage::communicator) prepares_ = false;
}

void RankState::reach(Stage stage, TimePoint now) {
  if (reached(stage)) return;
  reached_[index(stage)] = true;
  if (!entered_[index(stage)]) entered_[index(stage)] = now;
  if (stage == Stage::communicator) prepares_ = false, forget_group();
  switch (stage) {
    case Stage::spawned: break;
    case Stage::imported: return reach(Stage::spawned, now);
    case Stage::rendezvous:
    case Stage::communicator: return reach(Stage::imported, now);
    case Stage::group: return reach(Stage::rendezvous, now);
    case Stage::collective:
      reach(Stage::group, now);
      // One that was called before the rank began to make a group says nothing of that group.
      if (entered_[index(stage)] > entered_[index(Stage::communicator)]) forget_group();
      return reach_in_nccl(now);
  }
}

void RankState::raise(const RankRaised& raised) {
  // The first exception is the cause; the same one comes again with its traceback when it ends the
  // interpreter.
  if (!raised_ || raised_->traceback.empty()) raised_ = raised;
  prepares_ = false;
  if (!group.empty()) leave(Stage::communicator);  // what it had before the group, it has still
  for (std::size_t i = 0; i < entered_.size(); ++i)
    if (!reached_[i]) entered_[i].reset();
}

void RankState::exit(ProcessId process, std::optional<ExitStatus> status, TimePoint now) {
  if (process_ != process || ended()) {
    return forget_wrapper(process);
  }
  if (!wrappers_.empty()) {
    // A child of the wrapper has ended; the wrapper decides what that means for the rank.
    const Wrapper wrapper = wrappers_.back();
    wrappers_.pop_back();
    if (status && succeeded(*status)) {
      came_through(now);
      process_ = wrapper.process;
      evidence_ = wrapper.evidence;
      heard_ = wrapper.evidence >= RankEvidence::hook;
      return;
    }
    const std::optional<RankRaised> raised = raised_;
    start_over(wrapper.process, wrapper.evidence);
    raised_ = raised;
    return;
  }
  ended_at_ = now;
  status_ = status;
  if (status && succeeded(*status)) came_through(now);
}

// Nobody ends in order inside a blocking call: it came through, and the news of it was lost
// (os._exit right after the collective).
void RankState::came_through(TimePoint now) {
  for (std::size_t i = 0; i < entered_.size(); ++i)
    if (entered_[i]) reach(static_cast<Stage>(i), now);
}

void RankState::await_person(std::string doing, TimePoint now) {
  awaits_person_ = std::move(doing);
  attended_at_ = now;
  calm_since_ = {};
}

void RankState::sample(Activity activity, std::string doing, TimePoint now, Duration period) {
  if (awaits_person()) activity = Activity::attended;
  if (activity == Activity::attended) attended_at_ = now;
  activity_ = activity;
  doing_ = std::move(doing);
  sampled_at_ = now;
  for (const Activity calm : {Activity::stopped, Activity::quiet, Activity::idling}) {
    auto& since = calm_since_[calm_index(calm)];
    if (activity > calm)
      since.reset();
    else if (!since)
      since = now - period;  // seen as the difference of two looks, it held from the first one on
  }
}

bool RankState::waits_in(Stage stage) const {
  return alive() && entered(stage) && !reached(stage);
}

Stage RankState::furthest() const {
  for (int i = kStageCount - 1; i > 0; --i)
    if (reached_[static_cast<std::size_t>(i)]) return static_cast<Stage>(i);
  return Stage::spawned;
}

Activity RankState::activity(TimePoint now) const {
  if (ended()) return Activity::dead;
  if (awaits_person()) return Activity::attended;
  if (now - sampled_at_ > kSampleIsFresh) return Activity::unseen;
  const bool stands_still = activity_ == Activity::quiet || activity_ == Activity::idling;
  return device_works_ && stands_still ? Activity::working : activity_;
}

std::string RankState::doing(TimePoint now) const {
  if (ended()) return status_ ? describe(*status_) : "exit status unknown";
  if (awaits_person()) return awaits_person_;
  if (device_works_) return "its device works on what came before the collective";
  if (prepares() && activity(now) == Activity::working)
    return "NCCL loads its kernels, behind what its device does";
  const std::string doing = now - sampled_at_ > kSampleIsFresh ? std::string() : doing_;
  if (known()) return doing;
  return std::string(kNeverSeen) + (doing.empty() ? "" : "; another process: " + doing);
}

std::optional<TimePoint> RankState::calm_since(Activity activity) const {
  return calm_since_[calm_index(activity)];
}

}  // namespace safelaunch::watch
