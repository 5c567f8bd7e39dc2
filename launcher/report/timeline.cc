#include "timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "safelaunch/base/format.h"

// Each rank is a row. A row goes from stage to stage, then, if the verdict speaks of its rank, up
// to the verdict as waiting or missing, and behind it as stopped. With too many rows, ranks that
// played the same part, reached the same stages and ended alike share one, suspects first.
namespace safelaunch::report {
namespace {

enum class Part { none, waited, missing };

bool holds(const std::vector<Rank>& ranks, Rank rank) {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

Part part_of(const AttemptHistory& attempt, Rank rank) {
  if (!attempt.verdict) return Part::none;
  const Failure& verdict = attempt.verdict->failure;
  if (std::ranges::binary_search(verdict.missing, rank, {}, &MissingRank::rank))
    return is_death(verdict.kind) ? Part::none : Part::missing;
  return holds(verdict.waiting, rank) ? Part::waited : Part::none;
}

// Ranks with the same behaviour look alike: the same part, the same stages, the same end.
struct Behaviour {
  Part part = Part::none;
  bool suspect = false;
  unsigned stages = 0;  // a bit each
  std::string status;
  bool told_to_end = false;
  auto operator<=>(const Behaviour&) const = default;
};

constexpr const char* kToldToEnd = "told to end";

// The end of a rank in words. A signal that safelaunch sent or passed on is no failure of the rank.
std::string end_of(const Behaviour& behaviour) {
  if (behaviour.status.empty() || behaviour.status == "exit status 0") return {};
  if (!behaviour.told_to_end) return behaviour.status;
  // A program that handles a signal and then says so ends with 128 + its number, as a shell does.
  constexpr std::array kOurs = {"killed by SIGTERM", "killed by SIGKILL", "killed by SIGINT",
                                "killed by SIGHUP",  "killed by SIGQUIT", "exit status 143",
                                "exit status 130",   "exit status 129"};
  const bool by_us = std::ranges::find(kOurs, behaviour.status) != kOurs.end();
  return by_us ? kToldToEnd : fmt::format("{}: {}", kToldToEnd, behaviour.status);
}

std::string note_of(const Behaviour& behaviour) {
  std::string text;
  if (behaviour.part == Part::missing) text = "missing";
  if (behaviour.part == Part::waited) text = "waited";
  if (behaviour.suspect && text.empty()) text = "failed first";
  const std::string end = end_of(behaviour);
  const bool is_news = !end.empty() && end != kToldToEnd;  // that follows from what we did
  if (text.empty()) return end;
  return is_news ? text + ", " + end : text;
}

struct Member {
  Rank rank;
  const RankHistory* history = nullptr;
};

struct Group {
  Behaviour behaviour;
  std::vector<Member> members;
};

Behaviour behaviour_of(const AttemptHistory& attempt, const Member& member,
                       const std::vector<Rank>& suspects) {
  Behaviour behaviour{part_of(attempt, member.rank), holds(suspects, member.rank), 0,
                      member.history->status, member.history->told_to_end};
  for (unsigned i = 0; i < kStageCount; ++i)
    if (member.history->reached[i]) behaviour.stages |= 1U << i;
  return behaviour;
}

std::vector<Member> members_of(const AttemptHistory& attempt) {
  static const RankHistory kNothing{};
  std::map<Rank, const RankHistory*> ranks;
  for (const auto& [rank, history] : attempt.ranks) ranks[rank] = &history;
  if (attempt.verdict) {  // a missing rank has no history, and is the one to show
    const Failure& verdict = attempt.verdict->failure;
    for (const MissingRank& one : verdict.missing) ranks.try_emplace(one.rank, &kNothing);
    for (const Rank rank : verdict.waiting) ranks.try_emplace(rank, &kNothing);
  }
  std::vector<Member> members;
  for (const auto& [rank, history] : ranks) members.push_back({rank, history});
  return members;
}

std::vector<Group> groups_of(const AttemptHistory& attempt, std::size_t most_rows) {
  const std::vector<Rank> suspected = suspects(attempt);
  std::vector<Group> groups;
  for (const Member& member : members_of(attempt))
    groups.push_back({behaviour_of(attempt, member, suspected), {member}});
  if (groups.size() <= most_rows) return groups;
  std::map<std::tuple<bool, Behaviour>, std::vector<Member>> alike;
  for (const Group& group : groups)
    alike[{!group.behaviour.suspect, group.behaviour}].push_back(group.members.front());
  groups.clear();
  for (auto& [key, members] : alike) groups.push_back({std::get<Behaviour>(key), members});
  return groups;
}

// "missing, on gpu-17": the host where all ranks of the group are on one other node.
std::string note_of(const Group& group) {
  const std::string note = note_of(group.behaviour);
  const std::string& host = group.members.front().history->host;
  const bool together = std::ranges::all_of(
      group.members, [&](const Member& member) { return member.history->host == host; });
  if (host.empty() || !together) return note;
  return note.empty() ? "on " + host : fmt::format("{}, on {}", note, host);
}

// The time at which the last of the group's ranks reached the stage.
std::optional<Duration> reached_by_all(const Group& group, std::size_t stage) {
  std::optional<Duration> last;
  for (const Member& member : group.members)
    if (const auto& reached = member.history->reached[stage])
      last = std::max(last.value_or(*reached), *reached);
  return last;
}

std::optional<Duration> ended_by_all(const Group& group) {
  std::optional<Duration> last;
  for (const Member& member : group.members)
    if (member.history->ended) last = std::max(last.value_or(Duration{}), *member.history->ended);
  return last;
}

class RowWriter {
 public:
  RowWriter(const AttemptHistory& attempt, const Group& group) : attempt_(attempt), group_(group) {}

  std::vector<TimelineSpan> write() {
    std::vector<std::pair<Duration, Stage>> reached;
    for (std::size_t i = 0; i < kStageCount; ++i)
      if (const auto when = reached_by_all(group_, i))
        reached.emplace_back(*when, static_cast<Stage>(i));
    std::sort(reached.begin(), reached.end());
    for (const auto& [when, stage] : reached) {
      go_to(when);
      now_ = {TimelineSpan::Kind::reached, stage, now_.to, now_.to};
    }
    finish();
    return std::move(spans_);
  }

 private:
  void go_to(Duration when) {
    const Duration since = std::max(when - attempt_.began, now_.from);
    now_.to = std::min(since, attempt_.until - attempt_.began);
    if (now_.to > now_.from) spans_.push_back(now_);
  }

  // Adds the stretch up to the verdict, which is about it, and the one behind.
  void finish() {
    const Duration end = ended_by_all(group_).value_or(attempt_.until);
    if (attempt_.verdict && group_.behaviour.part != Part::none) {
      const Failure& verdict = attempt_.verdict->failure;
      if (verdict.kind == FailureKind::stalled && verdict.waited > Duration{})
        go_to(attempt_.verdict->at - verdict.waited);
      now_.from = now_.to;
      now_.kind = group_.behaviour.part == Part::missing ? TimelineSpan::Kind::missing
                                                         : TimelineSpan::Kind::waiting;
      go_to(attempt_.verdict->at);
      now_ = {TimelineSpan::Kind::stopped, now_.stage, now_.to, now_.to};
    }
    go_to(end);
  }

  const AttemptHistory& attempt_;
  const Group& group_;
  TimelineSpan now_;
  std::vector<TimelineSpan> spans_;
};

}  // namespace

Timeline timeline_of(const AttemptHistory& attempt, std::size_t most_rows) {
  Timeline timeline;
  timeline.length = std::max(attempt.until - attempt.began, Duration{});
  if (attempt.verdict) timeline.verdict = std::max(attempt.verdict->at - attempt.began, Duration{});
  for (const Group& group : groups_of(attempt, most_rows)) {
    if (timeline.rows.size() == most_rows) {
      timeline.ranks_left_out += group.members.size();
      continue;
    }
    TimelineRow row;
    for (std::size_t i = 0; i < kStageCount; ++i)
      if (const auto when = reached_by_all(group, i))
        row.reached[i] = std::max(*when - attempt.began, Duration{});
    for (const Member& member : group.members) row.ranks.push_back(member.rank);
    row.spans = RowWriter(attempt, group).write();
    row.note = note_of(group);
    row.suspect = group.behaviour.suspect;
    timeline.rows.push_back(std::move(row));
  }
  return timeline;
}

const char* name(TimelineSpan::Kind kind) {
  switch (kind) {
    case TimelineSpan::Kind::starting: return "starting";
    case TimelineSpan::Kind::reached: return "reached";
    case TimelineSpan::Kind::waiting: return "waiting";
    case TimelineSpan::Kind::missing: return "missing";
    case TimelineSpan::Kind::stopped: return "stopped";
  }
  return "?";
}

}  // namespace safelaunch::report
