#include "timed_out.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "safelaunch/ranks/rank_questions.h"

// Whether a job failed of a wait that its own timeout ended: what ended its ranks decides that.
namespace safelaunch::run {
namespace {

bool is_missing(const Failure& wait, Rank rank) {
  return std::ranges::find(wait.missing, rank, &MissingRank::rank) != wait.missing.end();
}

// The wait that a rank gave up, if that is what the job failed of. torch's watchdog takes a minute,
// and may end nothing.
std::optional<Failure> wait_timed_out(const AttemptRecord& record) {
  constexpr Duration kEndsWithin = std::chrono::minutes(10);
  const bool judged = record.verdict && is_stuck(record.verdict->kind);
  const bool is_old = record.failed_at && *record.failed_at - record.timed_out_at > kEndsWithin;
  const auto who = gave_up(record);
  if (!record.timed_out || judged || is_old || record.signal || went_well(record) || !who)
    return std::nullopt;
  auto wait = as_answered(*record.timed_out, record.ranks.answers);
  return wait && who->rank && is_missing(*wait, *who->rank) ? std::nullopt : wait;
}

// A life that finished a collective had met.
bool has_met(const ranks::RanksSeen& ranks) {
  return std::ranges::any_of(ranks.came_to, [](const auto& one) {
    return std::ranges::any_of(one.second.groups,
                               [](const auto& group) { return group.second.completed > 0; });
  });
}

}  // namespace

std::optional<GaveUp> gave_up(const AttemptRecord& record) {
  const ranks::RanksSeen& ranks = record.ranks;
  const auto is_told_to_end = [](const RankExited& one) {
    return one.status == ExitStatus(Signaled{SIGTERM});
  };
  const auto is_caught = [](const RankRaised& one) { return one.traceback.empty(); };
  const auto ended = std::ranges::find_if_not(ranks.exits, is_told_to_end);
  const auto raised = std::ranges::find_if_not(ranks.raised, is_caught);
  const bool some_ended = ended != ranks.exits.end();
  // Its main thread may just see its communicator aborted.
  const bool by_watchdog =
      some_ended && ended->status == ExitStatus(Signaled{SIGABRT}) &&
      std::ranges::all_of(ranks.raised, [&](const RankRaised& one) {
        return is_caught(one) || (one.rank == ended->rank && one.communication);
      });
  if (by_watchdog) return GaveUp{ended->rank};
  if (raised == ranks.raised.end()) {
    const bool all_killed =
        record.serves && some_ended && std::ranges::all_of(ranks.exits, [](const auto& one) {
          return one.status == ExitStatus(Signaled{SIGKILL});
        });
    return all_killed ? std::optional(GaveUp{}) : std::nullopt;
  }
  const bool by_it = !some_ended || std::ranges::any_of(ranks.raised, [&](const RankRaised& one) {
    return !is_caught(one) && one.rank == ended->rank;
  });
  return by_it && is_timeout(*raised) ? std::optional(GaveUp{raised->rank}) : std::nullopt;
}

std::optional<Failure> as_answered(Failure wait, const ranks::RankAnswers& answers) {
  // "timed out connecting: Connection refused" comes at once, and tells of no wait.
  constexpr Duration kShortestTimeout{1'000};
  if (wait.kind == FailureKind::stalled)
    wait = ranks::verdict_of(ranks::stall_as_answered(answers, wait.waited), answers);
  else if (wait.waited < kShortestTimeout)
    return std::nullopt;
  wait.timed_out = true;
  for (MissingRank& missing : wait.missing) ranks::put_place(answers, missing);
  const bool all_came = std::ranges::all_of(wait.missing, &MissingRank::inside);
  return all_came && watch::compare(answers.collectives).contradiction.empty()
             ? std::nullopt
             : std::optional(std::move(wait));
}

// As if the watch had ended the wait. A rank that has given it up stands nowhere any more, and its
// end counts, whichever was seen first.
std::optional<AttemptRecord> as_a_hang(AttemptRecord record) {
  std::optional<Failure> wait = wait_timed_out(record);
  if (!wait) return std::nullopt;
  record.verdict = std::move(*wait);
  std::ranges::stable_partition(
      record.ranks.exits,
      [who = gave_up(record).value_or(GaveUp{}).rank](const auto& one) { return one.rank == who; });
  for (const RankRaised& raised : record.ranks.raised) {
    if (const auto seen = record.ranks.answers.stacks.find(raised.rank);
        seen != record.ranks.answers.stacks.end())
      seen->second = {};
    record.ranks.answers.silent.erase(raised.rank);
  }
  return record;
}

std::optional<Failure> wait_before(const AttemptRecord& record) {
  const std::vector<RankRaised>& raised = record.ranks.raised_before;
  if (!record.timed_out_before || record.timed_out_before->missing.empty() || raised.empty() ||
      !is_timeout(raised.front()) || is_missing(*record.timed_out_before, raised.front().rank) ||
      has_met(record.ranks))
    return std::nullopt;
  return record.timed_out_before;
}

}  // namespace safelaunch::run
