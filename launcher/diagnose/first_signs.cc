#include "first_signs.h"

#include <algorithm>
#include <set>

#include "safelaunch/diagnose/failure_words.h"

namespace safelaunch::diagnose {
namespace {

bool is_reason(const Sighting& one) {
  return one.strength == Strength::proof && one.cause->kind == Kind::cause;
}

/// The ranks that raised nothing but that another is gone, or that something timed out.
std::set<Rank> lost_a_peer(const std::vector<Sighting>& raised) {
  std::set<Rank> ranks;
  for (const Sighting& one : raised)
    if (one.rank && one.strength == Strength::proof) ranks.insert(*one.rank);
  for (const Sighting& one : raised)
    if (one.rank && is_reason(one)) ranks.erase(*one.rank);
  return ranks;
}

std::optional<ReportedExit> reported(const Evidence& evidence) {
  for (const Output& output : evidence.output)
    if (auto told = reported_exit(output.text)) return told;
  return std::nullopt;
}

}  // namespace

FirstSigns signs_of(const Evidence& evidence, const std::vector<Sighting>& raised) {
  FirstSigns signs{.ended = ends_of(evidence.failure.ended, lost_a_peer(raised))};
  const auto reason =
      std::ranges::find_if(raised, [](const Sighting& one) { return one.rank && is_reason(one); });
  if (reason != raised.end()) signs.raised_cause = reason->rank;
  if (const auto told = reported(evidence)) signs.told = told->rank;
  if (!raised.empty()) signs.raised = raised.front().rank;
  return signs;
}

std::optional<Rank> shows(const Cause& cause, const std::vector<Sighting>& lines) {
  if (cause.kind != Kind::cause) return std::nullopt;
  const auto line = std::ranges::find_if(
      lines, [&](const Sighting& one) { return one.cause == &cause && one.rank; });
  return line == lines.end() ? std::nullopt : line->rank;
}

std::optional<ExitStatus> status_of(const Evidence& evidence, std::optional<Rank> rank) {
  const auto own = std::ranges::find_if(evidence.failure.ended, [&](const RankExited& ended) {
    return ended.rank == rank && ended.status && !succeeded(*ended.status);
  });
  if (own != evidence.failure.ended.end()) return own->status;
  const auto told = reported(evidence);
  if (told && (!told->rank || !rank || told->rank == rank)) return told->status;
  const bool raised = std::ranges::any_of(evidence.failure.raised,
                                          [&](const RankRaised& one) { return one.rank == rank; });
  if (rank && raised) return Exited{1};  // Python's own for an exception that nobody caught
  return evidence.command;
}

}  // namespace safelaunch::diagnose
