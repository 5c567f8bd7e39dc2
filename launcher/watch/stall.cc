#include "safelaunch/watch/stall.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/watch/rank_list.h"

namespace safelaunch {
namespace {

// A hook answers within a second, or not at all.
constexpr std::chrono::seconds kAnswersIn{1};

}  // namespace

void Stall::moved(TimePoint now) {
  moved_at_ = std::max(moved_at_, now);
  step_ = Step::silent;
}

void Stall::on_counters(Rank rank, std::int64_t completed, TimePoint now) {
  const auto [known, fresh] = completed_.try_emplace(rank, completed);
  if (fresh || known->second == completed) return;
  known->second = completed;
  moved(now);
}

std::optional<TimePoint> Stall::next_deadline() const {
  if (timeout_ == Duration::zero()) return std::nullopt;
  switch (step_) {
    case Step::silent: return moved_at_ + timeout_ / 2;
    case Step::asked: return moved_at_ + timeout_;
    case Step::asked_again: return moved_at_ + timeout_ + kAnswersIn;
    case Step::reported: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<StallAction> Stall::tick(TimePoint now) {
  const auto due = next_deadline();
  if (!due || now < *due) return std::nullopt;
  switch (step_) {
    case Step::silent: step_ = Step::asked; return AskCounters{};
    case Step::asked: step_ = Step::asked_again; return AskCounters{};
    case Step::asked_again: step_ = Step::reported; return report(now);
    case Step::reported: break;
  }
  return std::nullopt;
}

StallReport Stall::report(TimePoint now) const {
  StallReport report{std::chrono::duration_cast<Duration>(now - moved_at_), {}, completed_};
  std::int64_t most = 0;
  for (const auto& [rank, completed] : completed_) most = std::max(most, completed);
  for (const auto& [rank, completed] : completed_)
    if (completed < most) report.lagging.push_back(rank);
  std::stable_sort(report.lagging.begin(), report.lagging.end(),
                   [&](Rank a, Rank b) { return completed_.at(a) < completed_.at(b); });
  return report;
}

std::string describe(const StallReport& report) {
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(report.silent_for);
  std::string text =
      fmt::format("no output and no collective finished for {}", format_duration(silent));
  if (report.lagging.empty()) return text;
  std::int64_t most = 0;
  for (const auto& [rank, completed] : report.completed) most = std::max(most, completed);
  std::vector<Rank> ranks = report.lagging;
  std::sort(ranks.begin(), ranks.end());
  return text + fmt::format("; {} {} behind ({} of {} collectives)", rank_list(ranks),
                            ranks.size() == 1 ? "is" : "are",
                            report.completed.at(report.lagging.front()), most);
}

}  // namespace safelaunch
