#include "safelaunch/watch/stall.h"

#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/watch/hook_message.h"

// Two answers are compared: one that differs from the one before is movement. The last answer
// before a report has a second to come. After the report the asking goes on, because a job that
// stood still may move again.
namespace safelaunch::watch {
namespace {

constexpr Duration kMinute = std::chrono::minutes(1);
constexpr Duration kShortestStall = 2 * kMinute;
constexpr Duration kBeforeAnyPause = 30 * kMinute;
constexpr Duration kMeetsBeforeAnyPause = 3 * kMinute;  // as before the first collective
constexpr Duration kShortestLongWork = 10 * kMinute;
constexpr Duration kShortestOfMessages = 10 * kMinute;  // a worker may wait for its next order

// A time of a millisecond must not keep us awake.
constexpr Duration kShortestPause{10};

// A person who was told waits for the end of it.
constexpr Duration kOnceTold = std::chrono::seconds(10);

Collectives furthest(const std::map<Rank, Collectives>& counters) {
  Collectives most;
  for (const auto& [rank, reached] : counters) most = std::max(most, reached);
  return most;
}

bool is_stopped(const std::map<Rank, Activity>& activities, Rank rank) {
  const auto seen = activities.find(rank);
  return seen != activities.end() && seen->second == Activity::stopped;
}

std::string how_far(Collectives behind, Collectives most) {
  if (behind.begun < most.begun)
    return fmt::format("{} of {} collectives begun", behind.begun, most.begun);
  return fmt::format("{} of {} collectives finished", behind.finished, most.finished);
}

}  // namespace

void Stall::moved(TimePoint now) {
  if (now <= moved_at_) return;
  const TimePoint since = std::max(moved_at_, compared_since_.value_or(moved_at_));
  const auto pause = std::chrono::duration_cast<Duration>(std::max(asked_at_, since) - since);
  longest_pause_ = std::max(longest_pause_.value_or(pause), pause);
  if (told_ != Duration::zero()) over_ = std::chrono::duration_cast<Duration>(now - moved_at_);
  told_ = Duration::zero();
  moved_at_ = now;
  asked_ = 0;
}

void Stall::progressed(TimePoint now) {
  // The first step has no beginning that is known.
  if (compared_since_ && *compared_since_ <= progressed_at_) {
    const auto step = std::chrono::duration_cast<Duration>(now - progressed_at_);
    longest_step_ = std::max(longest_step_.value_or(step), step);
  }
  progressed_at_ = now;
  asked_in_step_ = 0;
  told_work_ = Duration::zero();
  moved(now);
}

// torch without a flight recorder answers with nothing, and counts nothing.
bool Stall::output_counts() const {
  const auto counts = [&](const auto& one) {
    return one.second.begun > 0 || meeting_.contains(one.first);
  };
  const auto cannot_answer = [this](Rank rank) { return !counters_.contains(rank); };
  return ranks_ == 0 || std::ranges::count_if(counters_, counts) +
                                std::ranges::count_if(stopped(), cannot_answer) <
                            ranks_;
}

void Stall::on_output(TimePoint now) {
  if (output_counts() && known_) moved(now);
}

void Stall::on_activity(Rank rank, Activity activity, TimePoint now) {
  activities_[rank] = activity;
  if (!known_ || told_ != Duration::zero()) return;
  if (activity != Activity::working && activity != Activity::attended) return;
  // Who asks a store again and again uses some CPU.
  const bool computes = waiting_ == Waiting::sleeps && !meeting_.contains(rank);
  if (!waits(rank) || computes) moved(now);
}

void Stall::on_others(Activity activity, TimePoint now) {
  if (activity == Activity::working && somebody_meets() && told_ == Duration::zero()) moved(now);
}

void Stall::on_counters(Rank rank, Collectives counters, TimePoint now, Uncounted stands) {
  answered_at_[rank] = now;
  const auto note = [rank](std::set<Rank>& ranks, bool is_one) {
    is_one ? void(ranks.insert(rank)) : void(ranks.erase(rank));
  };
  note(standing_, stands == Uncounted::stands || stands == Uncounted::meets);
  note(meeting_, stands == Uncounted::meets);
  note(serving_, stands == Uncounted::serves);
  if (!compared_since_) compared_since_ = now;
  const auto [known, fresh] = counters_.try_emplace(rank, counters);
  if (cannot_have_finished(known->second, counters)) counters.finished = known->second.finished;
  // Several before the first answer are movement too: training begins with the first.
  const bool stood = fresh ? counters.finished <= 1 : known->second == counters;
  known->second = counters;
  if (!stood) return progressed(now);
  if (stands == Uncounted::comes) return moved(now);
  if (!timeout_.after && told_ == Duration::zero() && awaits_request()) rested(now);
}

// gloo counts a collective that has failed, as by its timeout, among the finished ones.
bool Stall::cannot_have_finished(Collectives before, Collectives now) const {
  const std::vector<Rank> behind = lagging(counters_);
  return told_ != Duration::zero() && now.begun == before.begun && !behind.empty() &&
         counters_.at(behind.front()).begun < now.finished;
}

void Stall::rested(TimePoint now) {
  moved_at_ = progressed_at_ = now;
  asked_ = asked_in_step_ = 0;
}

Duration Stall::limit() const {
  if (timeout_.after) return *timeout_.after;
  const bool some_wait_for_messages = waits_for_messages() && standing_.size() < counters_.size();
  if (longest_pause_)
    return std::max(some_wait_for_messages ? kShortestOfMessages : kShortestStall,
                    2 * *longest_pause_);
  return somebody_meets() ? kMeetsBeforeAnyPause : kBeforeAnyPause;
}

Duration Stall::pause_between_questions() const {
  if (timeout_.after) return std::clamp(*timeout_.after / 2, kShortestPause, kMinute);
  return told_ == Duration::zero() ? kMinute : kOnceTold;
}

bool Stall::waits(Rank rank) const {
  const auto counted = counters_.find(rank);
  return standing_.contains(rank) || (counted != counters_.end() && counted->second.waits());
}

bool Stall::somebody_waits() const {
  return std::ranges::any_of(counters_, [this](const auto& one) { return waits(one.first); });
}

// The counters know of collectives alone.
bool Stall::somebody_is_in_a_message() const {
  return std::ranges::any_of(standing_, [this](Rank rank) {
    const auto counted = counters_.find(rank);
    return counted == counters_.end() || !counted->second.waits();
  });
}

// As the later stages of a pipeline do whose first one has lost its data.
bool Stall::waits_for_messages() const {
  return !standing_.empty() && !somebody_meets() &&
         std::ranges::none_of(counters_, [](const auto& one) { return one.second.waits(); });
}

// Whoever waits for no other rank waits for a request.
bool Stall::awaits_request() const {
  const auto waits_for_ranks = [this](const auto& one) { return waits(one.first); };
  return !somebody_meets() && !std::ranges::all_of(counters_, waits_for_ranks) &&
         std::ranges::all_of(counters_, [this](const auto& one) {
           return waits(one.first) || serving_.contains(one.first) || readers_.contains(one.first);
         });
}

// Counted from two questions too: after a while in which nobody ran, as after Ctrl-Z, all would be
// due at once, before anything could be heard.
bool Stall::stands_still() const {
  if (unanswered_ > 0 || asked_ < 2 || asked_at_ < moved_at_ + std::max(limit(), 2 * told_))
    return false;
  return timeout_.after || !lost_.empty() || (!output_counts() && somebody_waits());
}

// What a person has in hand takes as long as it takes.
std::vector<Rank> Stall::working() const {
  std::vector<Rank> working;
  for (const auto& [rank, activity] : activities_) {
    if (activity == Activity::attended) return {};
    if (activity == Activity::working && !waits(rank)) working.push_back(rank);
  }
  return working;
}

// Where all are, somebody holds the job as a whole.
std::vector<Rank> Stall::stopped() const {
  const auto goes_on_waiting = [&](const auto& one) {
    return waits(one.first) && !is_stopped(activities_, one.first);
  };
  std::vector<Rank> stopped;
  if (std::ranges::none_of(counters_, goes_on_waiting)) return stopped;
  for (const auto& [rank, activity] : activities_)
    if (activity == Activity::stopped) stopped.push_back(rank);
  return stopped;
}

bool Stall::works_long() const {
  if (output_counts() || told_ != Duration::zero() || unanswered_ > 0) return false;
  const Duration usual =
      std::max(timeout_.after.value_or(Duration::zero()),
               longest_step_ ? std::max(kShortestLongWork, 2 * *longest_step_) : kBeforeAnyPause);
  const auto waits_in_one = [](const auto& one) { return one.second.waits(); };
  return asked_in_step_ >= 2 && asked_at_ >= progressed_at_ + std::max(usual, 2 * told_work_) &&
         std::ranges::any_of(counters_, waits_in_one) && !working().empty();
}

std::optional<TimePoint> Stall::next_deadline() const {
  if (timeout_.off()) return std::nullopt;
  if (over_) return moved_at_;
  return asked_at_ +
         (stands_still() || works_long() ? kHookAnswersWithin : pause_between_questions());
}

std::optional<StallAction> Stall::tick(TimePoint now) {
  const auto due = next_deadline();
  if (!due || now < *due) return std::nullopt;
  if (const auto stood = std::exchange(over_, std::nullopt)) return StallOver{*stood};
  if (stands_still()) {
    const StallReport told = report(now);
    told_ = told.silent_for;
    return told;
  }
  if (works_long()) {
    StallReport told = report(now);
    told.working = working();
    told_work_ = told.silent_for = std::chrono::duration_cast<Duration>(now - progressed_at_);
    return told;
  }
  asked_at_ = now;
  known_ = true;
  ++asked_;
  ++asked_in_step_;
  return AskCounters{};
}

StallReport Stall::report(TimePoint now) const {
  StallReport report{std::chrono::duration_cast<Duration>(now - moved_at_),
                     {},
                     counters_,
                     output_counts(),
                     told_ != Duration::zero()};
  report.unsure = pause_between_questions();
  report.activities = activities_;
  for (const auto& [rank, reached] : counters_)
    if (waits(rank)) report.waiting.insert(rank);
  for (const Rank rank : lost_) report.activities[rank] = Activity::dead;
  report.lagging.assign(lost_.begin(), lost_.end());
  report.all_ended = !lost_.empty();
  if (report.all_ended) return report;
  report.meeting.assign(meeting_.begin(), meeting_.end());
  if (somebody_meets()) {
    for (const auto& [rank, answered] : answered_at_)
      if (answered >= asked_at_ && !waits(rank)) report.lagging.push_back(rank);
    return report;
  }
  report.lagging = stopped();
  if (!report.lagging.empty()) return report;
  if (somebody_is_in_a_message()) return report;  // gloo counts those among the collectives
  report.lagging = lagging(counters_);
  // What a rank that does not answer any more has reached since, nobody knows.
  std::erase_if(report.lagging, [this](Rank rank) { return answered_at_.at(rank) < asked_at_; });
  return report;
}

std::vector<Rank> lagging(const std::map<Rank, Collectives>& counters) {
  std::vector<Rank> lagging;
  const auto is_in_one = [](const auto& one) { return one.second.groups <= 1; };
  if (!std::ranges::all_of(counters, is_in_one)) return lagging;
  const Collectives most = furthest(counters);
  for (const auto& [rank, reached] : counters)
    if (reached < most) lagging.push_back(rank);
  std::ranges::stable_sort(lagging, {}, [&](Rank rank) { return counters.at(rank); });
  return lagging;
}

std::string describe(const StallReport& report) {
  std::string text =
      fmt::format("no {}collective finished for {}", report.output_counts ? "output and no " : "",
                  describe_duration(report.silent_for));
  if (!report.working.empty())
    text += fmt::format("; {} {}", rank_list(report.working),
                        report.working.size() == 1 ? "works" : "work");
  if (!report.meeting.empty())
    text += fmt::format("; {} {} for {} to make a group", rank_list(report.meeting),
                        report.meeting.size() == 1 ? "waits" : "wait",
                        report.lagging.empty() ? "others" : rank_list(report.lagging));
  if (report.lagging.empty() || !report.meeting.empty()) return text;
  if (report.all_ended)
    return text + fmt::format("; {} {} ended, and the command goes on without {}",
                              rank_list(report.lagging),
                              report.lagging.size() == 1 ? "has" : "have",
                              report.lagging.size() == 1 ? "it" : "them");
  // Of one that is stopped the counters tell nothing.
  if (is_stopped(report.activities, report.lagging.front())) return text;
  const Collectives behind = report.counters.at(report.lagging.front());
  std::vector<Rank> ranks = report.lagging;
  std::sort(ranks.begin(), ranks.end());
  return text + fmt::format("; {} {} behind ({})", rank_list(ranks),
                            ranks.size() == 1 ? "is" : "are",
                            how_far(behind, furthest(report.counters)));
}

}  // namespace safelaunch::watch
