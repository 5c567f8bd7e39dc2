#include "safelaunch/watch/stall.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/watch/hook_message.h"

// The ranks are asked at half of the time and at its end, and the second answer has a second to
// come. An answer that differs from the one before is movement. After the report the asking goes
// on, because a job that stood still may move again.
namespace safelaunch::watch {
namespace {

Collectives furthest(const std::map<Rank, Collectives>& counters) {
  Collectives most;
  for (const auto& [rank, reached] : counters) most = std::max(most, reached);
  return most;
}

std::string how_far(Collectives behind, Collectives most) {
  if (behind.begun < most.begun)
    return fmt::format("{} of {} collectives begun", behind.begun, most.begun);
  return fmt::format("{} of {} collectives finished", behind.finished, most.finished);
}

}  // namespace

void Stall::moved(TimePoint now) {
  moved_at_ = std::max(moved_at_, now);
  step_ = Step::silent;
}

// torch without a flight recorder answers with nothing, and counts nothing.
bool Stall::output_counts() const {
  const auto counts = [](const auto& one) { return one.second.begun > 0; };
  return ranks_ == 0 || std::ranges::count_if(counters_, counts) < ranks_;
}

void Stall::on_output(TimePoint now) {
  if (output_counts() && asked_) moved(now);
}

// A rank that waits in a collective may use a whole CPU for it.
void Stall::on_activity(Rank rank, Activity activity, TimePoint now) {
  if (!asked_ || (activity != Activity::working && activity != Activity::attended)) return;
  const auto known = counters_.find(rank);
  if (known == counters_.end() || known->second.begun <= known->second.finished) moved(now);
}

void Stall::on_counters(Rank rank, Collectives counters, TimePoint now) {
  const auto [known, fresh] = counters_.try_emplace(rank, counters);
  if (fresh || known->second == counters) return;
  known->second = counters;
  moved(now);
}

std::optional<TimePoint> Stall::next_deadline() const {
  if (timeout_ == Duration::zero()) return std::nullopt;
  switch (step_) {
    case Step::silent: return moved_at_ + timeout_ / 2;
    // Counted from the question too: after a while in which nobody ran, as after Ctrl-Z, all of
    // them would be due at once, before anything could be heard.
    case Step::asked: return std::max(moved_at_ + timeout_, looked_at_ + timeout_ / 2);
    case Step::asked_again: return std::max(moved_at_ + timeout_, looked_at_) + kHookAnswersWithin;
    case Step::reported: return looked_at_ + timeout_;
  }
  return std::nullopt;
}

std::optional<StallAction> Stall::tick(TimePoint now) {
  const auto due = next_deadline();
  if (!due || now < *due) return std::nullopt;
  looked_at_ = now;
  asked_ = true;
  switch (step_) {
    case Step::silent: step_ = Step::asked; return AskCounters{};
    case Step::asked: step_ = Step::asked_again; return AskCounters{};
    case Step::asked_again: step_ = Step::reported; return report(now);
    case Step::reported: return AskCounters{};  // a silent job may have gone on meanwhile
  }
  return std::nullopt;
}

StallReport Stall::report(TimePoint now) const {
  StallReport report{
      std::chrono::duration_cast<Duration>(now - moved_at_), {}, counters_, output_counts()};
  const Collectives most = furthest(counters_);
  for (const auto& [rank, reached] : counters_)
    if (reached < most) report.lagging.push_back(rank);
  std::stable_sort(report.lagging.begin(), report.lagging.end(),
                   [&](Rank a, Rank b) { return counters_.at(a) < counters_.at(b); });
  return report;
}

std::string describe(const StallReport& report) {
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(report.silent_for);
  std::string text =
      fmt::format("no {}collective finished for {}", report.output_counts ? "output and no " : "",
                  format_duration(silent));
  if (report.lagging.empty()) return text;
  const Collectives behind = report.counters.at(report.lagging.front());
  std::vector<Rank> ranks = report.lagging;
  std::sort(ranks.begin(), ranks.end());
  return text + fmt::format("; {} {} behind ({})", rank_list(ranks),
                            ranks.size() == 1 ? "is" : "are",
                            how_far(behind, furthest(report.counters)));
}

}  // namespace safelaunch::watch
