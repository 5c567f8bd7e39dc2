#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/watch/stages.h"

// The clocks of Stages: which ranks wait in a stage, for which others, and until when. After each
// event the standings are made anew from the ranks' states, so no clock is ever started or stopped
// by hand. A missing rank of which no process is known has the activity of all unknown processes
// together. The verdict and the status line stand at the end: they put the standings into words.
namespace safelaunch::watch {
namespace {

constexpr std::array kClockedStages{Stage::rendezvous, Stage::group, Stage::communicator,
                                    Stage::collective};

// A rank that came before the store was there asks for it again ever more rarely (torch 2.13,
// ExponentialBackoffWithJitter: each pause half as long again as the one before, up to a minute, by
// chance half as long more). So the next try may be nearly as far away as the rank has waited.
Duration next_try_within(Duration waited) {
  constexpr Duration kLongest{90'000};
  constexpr Duration kFirst{1'000};
  return std::min(kLongest, waited * 3 / 2 + kFirst);
}

void keep_earlier(std::optional<TimePoint>& earliest, std::optional<TimePoint> candidate) {
  if (candidate && (!earliest || *candidate < *earliest)) earliest = candidate;
}

// The status line lists at most three activities of missing ranks, so that it fits one line.
constexpr std::size_t kMostDoings = 3;

std::string in_seconds(Clock::duration duration) {
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

}  // namespace

const RankState& Stages::state_of(Rank rank) const {
  static const RankState unknown;
  if (const RankState* found = find(rank); found && found->known()) return *found;
  return may_be_here(rank) && !may_be_started_by_hand() ? others_ : unknown;
}

// Nobody tells of a script that is started by hand on how many hosts, or in how many terminals,
// that is: only where its ranks meet, and that the one which is here was started by no other
// Python.
bool Stages::may_be_started_by_hand() const {
  if (config_.world_size || config_.ranks_here || !config_.expected_here.empty()) return false;
  if (nameless_here_ == Nameless::is_left) return false;
  return meet_beyond_this_host() || (seen_here_ == 1 && nameless_here_ == Nameless::none);
}

bool Stages::meet_beyond_this_host() const {
  return std::ranges::any_of(ranks_, [](const auto& one) {
    const std::string& store = one.second.store;
    const std::size_t port = store.rfind(':');
    return port != std::string::npos && !store.starts_with("file:") &&
           !is_loopback_name(std::string_view(store).substr(0, port));
  });
}

bool Stages::may_be_here(Rank rank) const {
  const std::vector<Rank>& here = config_.expected_here;
  // Where a script gives a larger world than the one that this node starts whole, nobody elsewhere
  // starts the rest.
  const bool is_whole_world = config_.world_size == static_cast<int>(here.size());
  if (!here.empty() && !is_whole_world) return std::ranges::find(here, rank) != here.end();
  return !config_.others_start_ranks || seen_here_ < config_.ranks_here.value_or(0);
}

// NCCL's log may tell of processes of other nodes: those have no start time here.
int Stages::count_here() const {
  return static_cast<int>(std::ranges::count_if(ranks_, [](const auto& one) {
    return one.second.known() && one.second.process()->start_ticks != 0 &&
           one.second.process()->is_here();
  }));
}

bool Stages::misses_unseen() const {
  return std::ranges::any_of(standings_, [this](const Standing& standing) {
    return std::ranges::any_of(standing.missing, [this](Rank rank) {
      return !state_of(rank).known() && may_be_here(rank);
    });
  });
}

void Stages::others_do(Activity activity, std::string doing, Nameless nameless,
                       TimePoint monotonic) {
  nameless_here_ = nameless;
  // Their standstill proves nothing: perhaps none of them is the rank.
  others_.sample(std::max(activity, Activity::idling), std::move(doing), job_time(monotonic),
                 config_.look_every);
}

bool Stages::waits_for_nobody_seen() const {
  return std::ranges::any_of(standings_, [this](const Standing& standing) {
    return std::ranges::any_of(standing.missing, [this](Rank rank) {
      return &state_of(rank) != &others_ && !state_of(rank).known();
    });
  });
}

bool Stages::misses_helped(TimePoint monotonic) const {
  const TimePoint now = clock_.at(monotonic);
  return std::ranges::any_of(standings_, [&](const Standing& standing) {
    return std::ranges::any_of(standing.missing,
                               [&](Rank rank) { return state_of(rank).awaits_local(now); });
  });
}

void Stages::helpers_do(Activity activity, std::string doing, TimePoint monotonic) {
  helpers_.sample(std::max(activity, Activity::idling), std::move(doing), job_time(monotonic),
                  config_.look_every);
}

int Stages::claimed_world() const {
  int claimed = 0;
  for (const auto& [rank, state] : ranks_)
    claimed = std::max(claimed, state.claimed_world.value_or(0));
  return claimed;
}

int Stages::count_world() const {
  // The world size given to init_process_group counts before the environment: scripts change it.
  if (const int claimed = claimed_world(); claimed > 0) return claimed;
  int announced = 0;
  for (const auto& [rank, state] : ranks_)
    announced = std::max(announced, state.announced_world.value_or(0));
  if (config_.world_size) return *config_.world_size;
  return announced > 0 ? announced : static_cast<int>(ranks_.size());
}

// The members of the groups that those ranks make; empty: all ranks.
std::set<Rank> Stages::awaited_by(const std::vector<Rank>& waiting, Stage stage) const {
  std::set<Rank> awaited;
  if (stage != Stage::communicator) return awaited;
  for (const Rank rank : waiting) {
    const std::vector<Rank>& members = state_of(rank).awaits;
    if (members.empty()) return {};
    awaited.insert(members.begin(), members.end());
  }
  return awaited;
}

// The groups that those ranks make, each with one of its makers: thousands of ranks make few.
Stages::Makers Stages::makers_among(const std::vector<Rank>& waiting) const {
  Makers makers;
  for (const Rank rank : waiting)
    if (const RankState& state = state_of(rank); !state.group.empty())
      makers.emplace(state.group, &state);
  return makers;
}

// A communicator of its own does not bring a rank to a group that it has not begun to make.
bool Stages::lacks_one_of(const Makers& makers, Rank rank) const {
  const RankState& state = state_of(rank);
  return !state.blind() && state.alive() && std::ranges::any_of(makers, [&](const auto& one) {
    const std::vector<Rank>& members = one.second->awaits;
    const bool is_member = members.empty() || std::ranges::find(members, rank) != members.end();
    return is_member && !state.has_made(one.first);
  });
}

std::optional<Stages::Standing> Stages::standing(Stage stage) const {
  Standing result{.stage = stage, .since = TimePoint::max()};
  for (const auto& [rank, state] : ranks_) {
    if (!state.waits_in(stage)) continue;
    result.waiting.push_back(rank);
    result.since = std::min(result.since, *state.entered_at(stage));
  }
  if (result.waiting.empty()) return std::nullopt;
  int worlds_left = 0;
  for (const Rank rank : result.waiting)
    worlds_left = std::max(worlds_left, state_of(rank).worlds_left());
  const std::set<Rank> awaited = awaited_by(result.waiting, stage);
  const Makers makers = stage == Stage::communicator ? makers_among(result.waiting) : Makers{};
  for (int i = 0; i < world_size_; ++i) {
    if (!awaited.empty() && !awaited.contains(Rank{i})) continue;
    const RankState& state = state_of(Rank{i});
    // A stage that a rank reached in an earlier world does not count here, unless the rank has
    // ended and can join no other world.
    const bool yet_to_join = state.alive() && state.worlds_left() < worlds_left;
    if (state.reached(stage) && !yet_to_join && !lacks_one_of(makers, Rank{i}))
      result.through.push_back(Rank{i});
    else if (!state.waits_in(stage))
      result.missing.push_back(Rank{i});
  }
  return result;
}

void Stages::take_stock() {
  world_size_ = count_world();
  seen_here_ = count_here();
  standings_.clear();
  if (world_size_ < 2) return;
  for (const Stage stage : kClockedStages)
    if (auto one = standing(stage)) standings_.push_back(std::move(*one));
}

// Nobody is held to the time in which a person had the rank in hand.
TimePoint Stages::counts_from(const RankState& rank, const Standing& standing) {
  return std::max(standing.since, rank.attended_at());
}

Patience Stages::patience(Rank rank, const Standing& standing, TimePoint now) const {
  const RankState& state = state_of(rank);
  const bool ended_well = state.status() && succeeded(*state.status());
  if (config_.dead_rank == DeadRank::is_restarted && state.ended() && !ended_well)
    return {standing.since + limit_of(standing.stage, config_.limits), false};
  Patience one =
      patience_with(state, standing.stage, counts_from(state, standing), now, config_.limits);
  if (one.until && state.awaits_local(now)) {
    const Patience with_helpers =
        patience_with(helpers_, standing.stage, standing.since, now, config_.limits);
    if (!with_helpers.until) return with_helpers;
    one.until = std::max(*one.until, *with_helpers.until);
  }
  // If ranks come one after the other, the next one may be on its way.
  const bool may_come = state.activity(now) >= Activity::idling;
  const Duration limit = limit_of(standing.stage, config_.limits);
  if (!one.until || one.certain || !may_come || limit == Duration::zero()) return one;
  return {std::max(*one.until, arrival_ + limit), false};
}

std::optional<TimePoint> Stages::certain_at(const Standing& standing, TimePoint now) const {
  std::optional<TimePoint> earliest;
  for (const auto* ranks : {&standing.waiting, &standing.missing})
    for (const Rank rank : *ranks)
      if (const Patience one = patience(rank, standing, now); one.certain)
        keep_earlier(earliest, one.until);
  return earliest;
}

std::optional<TimePoint> Stages::overdue_at(const Standing& standing, TimePoint now) const {
  const Duration limit = limit_of(standing.stage, config_.limits);
  if (limit == Duration::zero() && standing.missing.empty()) return std::nullopt;
  TimePoint last = standing.since;
  if (standing.missing.empty()) {
    TimePoint news = std::max(last, progress_);
    for (const Rank rank : standing.waiting) {
      const RankState& state = state_of(rank);
      if (state.activity(now) == Activity::attended) return std::nullopt;
      news = std::max(news, state.attended_at());
      if (!state.prepares() || !busy(state, now)) continue;
      const Patience one =
          patience_with(state, standing.stage, counts_from(state, standing), now, config_.limits);
      if (!one.until) return std::nullopt;
      last = std::max(last, *one.until);
    }
    const bool some_try = std::ranges::any_of(
        standing.waiting, [this](Rank rank) { return state_of(rank).waits_in(Stage::rendezvous); });
    // Its pauses grew also while no time passed here.
    const auto waited = std::chrono::duration_cast<Duration>(news - standing.since) + clock_.lost();
    last = std::max(last, news + (some_try ? std::max(limit, next_try_within(waited)) : limit));
  }
  for (const Rank rank : standing.missing) {
    const Patience one = patience(rank, standing, now);
    if (!one.until) return std::nullopt;
    last = std::max(last, *one.until);
  }
  for (const Rank rank : standing.through) {
    const Patience one = patience_with_passed(state_of(rank), standing, now);
    if (!one.until) return std::nullopt;
    last = std::max(last, *one.until);
  }
  for (const Rank rank : without_world()) {
    const Patience one = patience_with(state_of(rank), standing.stage,
                                       counts_from(state_of(rank), standing), now, config_.limits);
    if (!one.until) return std::nullopt;
    last = std::max(last, *one.until);
  }
  return last;
}

bool Stages::may_be_one_of_several_worlds() const {
  const bool beyond = !ranks_.empty() && ranks_.rbegin()->first.value >= world_size_;
  return config_.world_size > world_size_ || beyond || !elsewhere_.empty();
}

// Several worlds below one launcher use the same numbers: a process with a number beyond the one
// that is seen may yet enter as any rank of it.
std::vector<Rank> Stages::without_world() const {
  std::vector<Rank> result;
  for (const auto& [rank, state] : ranks_)
    if (rank.value >= world_size_ && state.alive() && !state.tried(Stage::rendezvous) &&
        !state.tried(Stage::group) && !state.reached(Stage::group))
      result.push_back(rank);
  return result;
}

// From the communicator on, ranks meet in groups of their own: one that has its first meeting
// behind it may be the one that others wait for in the next.
Patience Stages::patience_with_passed(const RankState& rank, const Standing& standing,
                                      TimePoint now) const {
  if (standing.stage < Stage::communicator) return {standing.since, false};
  // Ranks that come through together end together, and the others' reports may still be on their
  // way.
  if (const auto ended = rank.ended_at())
    return {std::max(standing.since, *ended + config_.limits.news), false};
  if (!rank.known()) return {standing.since, false};
  if (busy(rank, now))
    return patience_with(rank, standing.stage, counts_from(rank, standing), now, config_.limits);
  const Duration limit = limit_of(standing.stage, config_.limits);
  if (limit == Duration::zero()) return {};
  const TimePoint calm = rank.calm_since(Activity::idling).value_or(standing.since);
  return {std::max(standing.since, calm) + limit, false};
}

bool Stages::busy(const RankState& rank, TimePoint now) {
  const Activity activity = rank.activity(now);
  return activity == Activity::working || activity == Activity::attended;
}

std::vector<Rank> Stages::suspects(const Standing& standing, TimePoint now) const {
  std::vector<Rank> certain;
  for (const auto* ranks : {&standing.waiting, &standing.missing})
    for (const Rank rank : *ranks)
      if (patience(rank, standing, now).certain) certain.push_back(rank);
  std::sort(certain.begin(), certain.end());
  if (!certain.empty()) return certain;
  if (!standing.missing.empty()) return standing.missing;
  // All have arrived. Where some came through, those that did not are the ones to look at, unless
  // one of the others has work to do before it comes to the next meeting.
  const auto works = [&](Rank rank) { return busy(state_of(rank), now); };
  if (standing.through.empty() || std::ranges::any_of(standing.through, works) ||
      std::ranges::any_of(without_world(), works))
    return {};
  return standing.waiting;
}

std::vector<Rank> Stages::all_waiting() const {
  std::vector<Rank> result;
  for (const auto& [rank, state] : ranks_)
    if (std::any_of(kClockedStages.begin(), kClockedStages.end(),
                    [&state = state](Stage stage) { return state.waits_in(stage); }))
      result.push_back(rank);
  return result;
}

bool Stages::suspended(TimePoint now) const {
  bool any = false;
  for (const auto& [rank, state] : ranks_) {
    if (!state.alive()) continue;
    if (state.activity(now) != Activity::stopped) return false;
    any = true;
  }
  return any;
}

std::vector<Rank> Stages::sample_these() const {
  std::vector<Rank> result;
  for (const auto& [rank, state] : ranks_)
    if (state.alive()) result.push_back(rank);
  return result;
}

MissingRank Stages::suspect(Rank rank, Stage stage, TimePoint now) const {
  const RankState& state = state_of(rank);
  // One that has a communicator, and is missing, has not come to the group that the others make.
  const bool lacks = stage == Stage::communicator && state.reached(stage);
  return {.rank = rank,
          .activity = state.activity(now),
          .doing = state.doing(now),
          .inside = state.entered(stage) && !lacks,
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

std::optional<Failure> Stages::wait_of(Rank rank, TimePoint monotonic) const {
  if (training_ || verdict_) return std::nullopt;
  const auto found = std::find_if(standings_.rbegin(), standings_.rend(), [&](const auto& one) {
    return std::ranges::find(one.waiting, rank) != one.waiting.end();
  });
  return found == standings_.rend() ? std::nullopt
                                    : std::optional(judge(*found, clock_.at(monotonic)));
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
    const std::string doing = state.doing(now);
    if (wording == Wording::full && doing == kNeverSeen)
      words = doing;
    else if (wording == Wording::full && !doing.empty())
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

std::optional<Stages::WaitClock> Stages::wait_clock(TimePoint monotonic) const {
  if (training_ || standings_.empty()) return std::nullopt;
  const TimePoint now = clock_.at(monotonic);
  const Standing& latest = standings_.back();
  const auto after = [&](TimePoint then) {
    return std::chrono::duration_cast<Duration>(then - latest.since);
  };
  WaitClock clock{after(now)};
  if (const auto until = overdue_at(latest, now)) clock.limit = after(*until);
  return clock;
}

std::string Stages::status_line(TimePoint monotonic) const {
  std::string line = counts_text() + waiting_text(clock_.at(monotonic), Wording::full);
  const auto clock = wait_clock(monotonic);
  if (clock) line += " " + in_seconds(clock->lasts);
  if (clock && clock->limit) line += "/" + in_seconds(*clock->limit);
  return line;
}

}  // namespace safelaunch::watch
