#include "stall_watch.h"

// The counters of the ranks' collectives say whether training moves. Each counts over all groups of
// a rank, and output of the job counts as movement too. Stall decides; here its questions are asked
// and its timer is set.
namespace safelaunch::run {

void StallWatch::begin() {
  if (timeout_ == Duration::zero()) return;
  stall_.emplace(timeout_, Clock::now());
  rearm();
}

void StallWatch::end() {
  stall_.reset();
  timer_.cancel();
}

void StallWatch::saw_output() {
  if (stall_) stall_->on_output(Clock::now());  // the timer that runs comes early, and is set anew
}

void StallWatch::answered(Rank rank, const watch::CountersAnswer& answer) {
  if (!stall_) return;
  watch::Collectives sum;
  for (const auto& [group, counters] : answer.groups) {
    sum.begun += counters.enqueued;
    sum.finished += counters.completed;
  }
  stall_->on_counters(rank, sum, Clock::now());
  rearm();
}

void StallWatch::rearm() {
  const auto next = stall_ ? stall_->next_deadline() : std::nullopt;
  if (!next) return void(timer_.cancel());
  timer_.expires_at(*next);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) tick();
  });
}

void StallWatch::tick() {
  if (!stall_) return;
  if (const auto action = stall_->tick(Clock::now())) {
    if (const auto* report = std::get_if<watch::StallReport>(&*action))
      listener_.on_stall(*report);
    else
      listener_.ask_counters(++questions_);
  }
  rearm();
}

}  // namespace safelaunch::run
