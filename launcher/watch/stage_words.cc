// Stages: verdicts and the status line.
#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/watch/stages.h"

namespace safelaunch::watch {
namespace {

// The status line lists at most three activities of missing ranks, so that it fits one line.
constexpr std::size_t kMostDoings = 3;

std::string in_seconds(Clock::duration duration) {
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

}  // namespace

MissingRank Stages::suspect(Rank rank, Stage stage, TimePoint now) const {
  const RankState& state = state_of(rank);
  return {.rank = rank,
          .activity = state.activity(now),
          .doing = state.doing(now),
          .inside = state.entered(stage),
          .known = state.process().has_value(),
          .status = state.status()};
}

Failure Stages::judge(const Standing& standing, TimePoint now) const {
  Failure verdict{.kind = FailureKind::hung, .stage = standing.stage, .waiting = all_waiting()};
  for (const Rank rank : suspects(standing, now)) {
    const RankState& state = state_of(rank);
    std::erase(verdict.waiting, rank);
    verdict.missing.push_back(suspect(rank, standing.stage, now));
    if (patience(rank, standing, now).certain) verdict.certainty = Certainty::confirmed;
    const bool ended_well = state.status() && succeeded(*state.status());
    if (state.ended() && !ended_well && verdict.kind == FailureKind::hung)
      verdict.kind = state.raised() ? FailureKind::raised : FailureKind::rank_died;
    if (state.raised()) verdict.raised.push_back(*state.raised());
  }
  if (!verdict.missing.empty())
    verdict.waited = std::chrono::duration_cast<Duration>(now - standing.since);
  return verdict;
}

std::optional<Failure> Stages::waiting_now(TimePoint monotonic) const {
  if (training_ || verdict_ || standings_.empty()) return std::nullopt;
  return judge(standings_.back(), clock_.at(monotonic));
}

std::string Stages::counts_text() const {
  std::string text;
  for (int i = kStageCount - 1; i >= 0; --i) {
    const Stage stage = static_cast<Stage>(i);
    const auto through = std::count_if(ranks_.begin(), ranks_.end(),
                                       [&](const auto& one) { return one.second.reached(stage); });
    const bool begun = std::any_of(ranks_.begin(), ranks_.end(),
                                   [&](const auto& one) { return one.second.entered(stage); });
    if (through == 0 && !begun) continue;
    const std::string piece = fmt::format("{} {}/{}", name(stage), through, world_size_);
    text = text.empty() ? piece : fmt::format("{} · {}", piece, text);
    // Stages before one that all ranks have passed are history.
    if (through >= world_size_) break;
  }
  return text;
}

std::string Stages::waiting_text(TimePoint now, Wording wording) const {
  if (training_ || standings_.empty()) return {};
  const Standing& latest = standings_.back();
  const std::vector<Rank> awaited = suspects(latest, now);
  if (awaited.empty()) return " · all wait";
  std::vector<AlikeRanks> doings;
  for (const Rank rank : awaited) {
    const RankState& state = state_of(rank);
    std::string words = name(state.activity(now));
    if (const std::string doing = state.doing(now); wording == Wording::full && !doing.empty())
      words += ": " + doing;
    add_alike(doings, rank, std::move(words));
  }
  std::string text = " · waiting for";
  const std::size_t shown = std::min(doings.size(), kMostDoings);
  for (std::size_t i = 0; i < shown; ++i)
    text +=
        fmt::format("{}{} ({})", i == 0 ? " " : ", ", rank_list(doings[i].ranks), doings[i].words);
  if (shown < doings.size()) text += fmt::format(" and {} more", doings.size() - shown);
  return text;
}

std::string Stages::clock_text(TimePoint now) const {
  if (training_ || standings_.empty()) return {};
  const Standing& latest = standings_.back();
  std::string text = " " + in_seconds(now - latest.since);
  if (const auto until = overdue_at(latest, now)) text += "/" + in_seconds(*until - latest.since);
  return text;
}

std::string Stages::status_line(TimePoint monotonic) const {
  const TimePoint now = clock_.at(monotonic);
  return counts_text() + waiting_text(now, Wording::full) + clock_text(now);
}

}  // namespace safelaunch::watch
