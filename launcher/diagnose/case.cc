#include "case.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <set>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/diagnose/failure_words.h"

// A case is opened in three steps: find which rank failed first by the signs that need no cause,
// collect every line that shows a cause, and drop the lines that would mislead here. The lines of
// the first rank come first, then all are sorted by weight.
namespace safelaunch::diagnose {
namespace {

/// The signals that safelaunch sends in a stop, or passes on.
constexpr std::array kStopping{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL};

bool possible_in(const Cause& cause, std::optional<Stage> stage) {
  return !stage || cause.stages.empty() ||
         std::ranges::find(cause.stages, *stage) != cause.stages.end();
}

bool is_of_the_script(const Sighting& one) {
  return one.cause->id == cause::kUserException;
}

/// Whether a printed exception may have been caught: a job that hangs lives on, and where a hook
/// told of an exception that ended a rank, the others have ended nothing.
bool was_caught(const Sighting& one, const Evidence& evidence) {
  if (one.source == "exception") return false;
  if (one.cause->scope == Scope::exception)
    return hung(evidence) || !evidence.failure.raised.empty();
  // A rank that was never seen may have failed before it came.
  return is_of_the_script(one) && hung(evidence) && !proved(evidence, cause::kRankNotStarted);
}

/// Whether a line must not count in this case. The words of an abort at the interpreter's end do
/// not count, because a thread of the script may write them at any time: the state alone decides.
bool misleads(const Sighting& one, const Evidence& evidence) {
  if (!possible_in(*one.cause, evidence.failure.stage)) return true;
  if (was_caught(one, evidence)) return true;
  if (one.cause->id == cause::kAbortAtExit) return true;
  // Ranks of one node meet over the loopback by right.
  if (one.cause->id == cause::kNameResolution && evidence.nodes == 1 &&
      one.line.find("connectFullMesh") != std::string::npos)
    return true;
  return one.cause->id == cause::kHostOom && evidence.oom_kills == 0;
}

bool is_reason(const Sighting& one) {
  return one.strength == Strength::proof && one.cause->kind == Kind::cause;
}

std::set<Rank> raised_after_a_kill(const Evidence& evidence) {
  std::set<Rank> ranks;
  for (const RankRaised& one : evidence.failure.raised)
    if (one.after_a_kill) ranks.insert(one.rank);
  return ranks;
}

/// The rank for whose exception all were killed, by whoever has started them, as SGLang does. That
/// of a rank that has lost a peer is none.
std::optional<Rank> killed_for_its_exception(const Evidence& evidence,
                                             const std::vector<Sighting>& raised) {
  const std::vector<RankExited>& ended = evidence.failure.ended;
  const bool all_killed = !ended.empty() && std::ranges::all_of(ended, [](const RankExited& one) {
    return one.status == ExitStatus(Signaled{SIGKILL});
  });
  const auto is_reason_of_all = [&](const RankRaised& one) {
    return !one.after_a_kill && !one.traceback.empty() &&
           std::ranges::none_of(raised, [&](const Sighting& shown) {
             return shown.rank == one.rank && shown.cause->kind == Kind::victim;
           });
  };
  const auto found = std::ranges::find_if(evidence.failure.raised, is_reason_of_all);
  return all_killed && found != evidence.failure.raised.end() ? std::optional(found->rank)
                                                              : std::nullopt;
}

/// The ranks whose exceptions say only that another rank is gone, or that something timed out.
std::set<Rank> lost_a_peer(const std::vector<Sighting>& raised, const std::set<Rank>& late) {
  std::set<Rank> ranks = late;
  for (const Sighting& one : raised)
    if (one.rank && one.strength == Strength::proof) ranks.insert(*one.rank);
  for (const Sighting& one : raised)
    if (one.rank && is_reason(one) && !late.contains(*one.rank)) ranks.erase(*one.rank);
  return ranks;
}

/// The words of a launcher, or words like its: enough to look for a cause.
std::optional<ReportedExit> reported(const Evidence& evidence) {
  if (evidence.told) return evidence.told;
  for (const Output& output : evidence.output)
    if (auto told = reported_exit(output.text)) return told;
  return std::nullopt;
}

FirstSigns signs_of(const Evidence& evidence, const std::vector<Sighting>& raised) {
  const std::set<Rank> late = raised_after_a_kill(evidence);
  FirstSigns signs{.ended = ends_of(evidence.failure.ended, lost_a_peer(raised, late))};
  const auto reason = std::ranges::find_if(raised, [&](const Sighting& one) {
    return one.rank && is_reason(one) && !late.contains(*one.rank);
  });
  signs.raised_cause =
      reason != raised.end() ? reason->rank : killed_for_its_exception(evidence, raised);
  if (const auto told = reported(evidence)) signs.told = told->rank;
  if (!raised.empty()) signs.raised = raised.front().rank;
  return signs;
}

/// The rank that printed its reason and ended in order, where the first to fail was killed: whoever
/// started the ranks ended the others for it, as vLLM's engine does.
std::optional<Rank> left_with_a_reason(const std::vector<Sighting>& all, const FailedFirst& first,
                                       const Evidence& evidence) {
  if (first.status != ExitStatus(Signaled{SIGKILL}) &&
      first.status != ExitStatus(Signaled{SIGTERM}))
    return std::nullopt;
  const auto reason = std::ranges::find_if(all, [&](const Sighting& one) {
    return one.rank && one.rank != first.rank && is_reason(one) &&
           std::ranges::find(evidence.finished, *one.rank) != evidence.finished.end();
  });
  return reason == all.end() ? std::nullopt : reason->rank;
}

/// The status that may show the cause: what anybody's words say of it counts, too.
std::optional<ExitStatus> status_for_cause(const Evidence& evidence, std::optional<Rank> rank) {
  const auto seen = std::ranges::find_if(evidence.failure.ended, [&](const RankExited& ended) {
    return ended.rank == rank && ended.status;
  });
  const auto said = reported(evidence);
  if (seen == evidence.failure.ended.end() && said && (!said->rank || !rank || said->rank == rank))
    return said->status;
  return status_of(evidence, rank);
}

}  // namespace

bool proved(const Evidence& evidence, std::string_view cause) {
  return stands_still(evidence) &&
         std::ranges::find(evidence.confirmations, cause, &Confirmation::cause) !=
             evidence.confirmations.end();
}

Case open_case(const Evidence& evidence, const Catalogue& catalogue) {
  std::vector<Sighting> all;
  for (const RankRaised& exception : evidence.failure.raised) {
    std::vector<Sighting> shown = sightings(exception, catalogue);
    if (hung(evidence) && !ended_its_rank(exception, evidence))
      std::erase_if(shown, is_of_the_script);  // it has caught it, and goes on
    std::ranges::move(shown, std::back_inserter(all));
  }
  for (const RankRaised& exception : evidence.hidden)
    std::ranges::move(sightings(exception, catalogue), std::back_inserter(all));
  for (const RankRaised& exception : evidence.nameless)
    for (Sighting& one : sightings(exception, catalogue)) {
      one.rank.reset();
      all.push_back(std::move(one));
    }
  FirstSigns signs = signs_of(evidence, all);
  const auto rank = first_failed(signs);
  FailedFirst first{rank, status_for_cause(evidence, rank)};
  for (const Output& output : evidence.output)
    std::ranges::move(sightings(output, catalogue), std::back_inserter(all));
  if (const auto left = left_with_a_reason(all, first, evidence)) {
    signs.raised_cause = left;
    first = {left, std::nullopt};
  }
  if (first.status)
    std::ranges::move(sightings(*first.status, first.rank, catalogue), std::back_inserter(all));
  std::erase_if(all, [&](const Sighting& one) { return misleads(one, evidence); });
  std::stable_partition(all.begin(), all.end(),
                        [&](const Sighting& one) { return one.rank == first.rank; });
  sort_by_weight(all);
  return {evidence, catalogue, std::move(all), std::move(signs), first};
}

std::optional<Rank> shows(const Cause& cause, const std::vector<Sighting>& lines) {
  if (cause.kind != Kind::cause) return std::nullopt;
  const auto line = std::ranges::find_if(
      lines, [&](const Sighting& one) { return one.cause == &cause && one.rank; });
  return line == lines.end() ? std::nullopt : line->rank;
}

bool by_the_stop(const ExitStatus& status) {
  constexpr int kOfShells = 128;  // a shell adds 128 to the signal that ended its command
  const auto* killed = std::get_if<Signaled>(&status);
  const int signal = killed ? killed->signal : std::get<Exited>(status).code - kOfShells;
  return std::ranges::find(kStopping, signal) != kStopping.end();
}

bool chosen(const std::optional<ExitStatus>& status) {
  return status && !succeeded(*status) && !by_the_stop(*status);
}

bool ended_its_rank(const RankRaised& raised, const Evidence& evidence) {
  const auto by_it = [&](const RankExited& ended) {
    return ended.rank == raised.rank && chosen(ended.status);
  };
  return !raised.traceback.empty() || std::ranges::any_of(evidence.failure.ended, by_it);
}

std::optional<ExitStatus> status_of(const Evidence& evidence, std::optional<Rank> rank) {
  constexpr Exited kUncaught{1};  // Python's own status after an uncaught exception
  const std::vector<RankExited>& all = evidence.failure.ended;
  const bool raised = std::ranges::any_of(evidence.failure.raised,
                                          [&](const RankRaised& one) { return one.rank == rank; });
  const auto own = std::ranges::find_if(all, [&](const RankExited& ended) {
    return ended.rank == rank && ended.status && !succeeded(*ended.status);
  });
  // A launcher's SIGTERM, sent for another rank's end, only cut short what the exception had begun.
  if (own != all.end() && own != all.begin() && raised &&
      own->status == ExitStatus(Signaled{SIGTERM}))
    return kUncaught;
  if (own != all.end()) return own->status;
  const auto& told = evidence.told;
  if (told && (!told->rank || !rank || told->rank == rank)) return told->status;
  if (rank && raised) return kUncaught;
  return evidence.command;
}

}  // namespace safelaunch::diagnose
