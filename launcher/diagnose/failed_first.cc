#include "failed_first.h"

#include <algorithm>
#include <csignal>

#include "safelaunch/diagnose/first_failure.h"

namespace safelaunch {
namespace {

bool failed(const RankExited& ended) {
  return ended.status && !succeeded(*ended.status);
}

/// Whether all that a rank raised was that another is gone, or that something timed out.
bool only_followed(std::optional<Rank> rank, const std::vector<Sighting>& raised) {
  bool any = false;
  for (const Sighting& one : raised) {
    if (one.rank != rank || one.strength != Strength::proof) continue;
    if (one.cause->kind == Kind::cause) return false;
    any = true;
  }
  return any;
}

std::optional<ReportedExit> reported(const Evidence& evidence) {
  for (const Output& output : evidence.output)
    if (auto told = reported_exit(output.text)) return told;
  return std::nullopt;
}

/// Launchers end the ranks that are left over with SIGTERM once one has failed.
bool ended_by_launcher(const Evidence& evidence, const RankExited& ended) {
  const bool first = &ended == &evidence.failure.ended.front();
  return !first && ended.status == ExitStatus(Signaled{SIGTERM});
}

/// The first exit of a rank that was nobody's follower; of any rank if all were, or if the kernel
/// does not tell how they ended.
std::optional<Rank> first_to_end(const Evidence& evidence, const std::vector<Sighting>& raised) {
  const auto culprit = std::ranges::find_if(evidence.failure.ended, [&](const RankExited& ended) {
    return failed(ended) && !only_followed(ended.rank, raised) &&
           !ended_by_launcher(evidence, ended);
  });
  if (culprit != evidence.failure.ended.end()) return culprit->rank;
  const auto first = std::ranges::find_if(evidence.failure.ended, failed);
  if (first != evidence.failure.ended.end()) return first->rank;
  if (evidence.failure.ended.empty()) return std::nullopt;
  return evidence.failure.ended.front().rank;
}

}  // namespace

std::optional<ExitStatus> status_of(const Evidence& evidence, std::optional<Rank> rank) {
  const auto own = std::ranges::find_if(evidence.failure.ended, [&](const RankExited& ended) {
    return failed(ended) && ended.rank == rank;
  });
  if (own != evidence.failure.ended.end()) return own->status;
  const auto told = reported(evidence);
  if (told && (!told->rank || !rank || told->rank == rank)) return told->status;
  const bool raised = std::ranges::any_of(evidence.failure.raised,
                                          [&](const RankRaised& one) { return one.rank == rank; });
  if (rank && raised) return Exited{1};  // Python's own for an exception that nobody caught
  return evidence.command;
}

FailedFirst failed_first(const Evidence& evidence, const std::vector<Sighting>& raised) {
  const auto cause = std::ranges::find_if(raised, [](const Sighting& one) {
    return one.rank && one.strength == Strength::proof && one.cause->kind == Kind::cause;
  });
  std::optional<Rank> rank;
  if (cause != raised.end()) rank = cause->rank;
  if (!rank) rank = first_to_end(evidence, raised);
  if (!rank)
    if (const auto told = reported(evidence)) rank = told->rank;
  if (!rank && !raised.empty()) rank = raised.front().rank;
  return {rank, status_of(evidence, rank)};
}

}  // namespace safelaunch
