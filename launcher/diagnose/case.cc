#include "case.h"

#include <algorithm>
#include <iterator>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/diagnose/diagnosis.h"

namespace safelaunch::diagnose {
namespace {

bool possible_in(const Cause& cause, std::optional<Stage> stage) {
  return !stage || cause.stages.empty() ||
         std::ranges::find(cause.stages, *stage) != cause.stages.end();
}

/// Whether a line must not count in this case, although it stands there. What a rank that aborts at
/// its end writes, a thread of the script's own may write anywhere: there the state decides alone.
bool misleads(const Sighting& one, const Evidence& evidence) {
  if (!possible_in(*one.cause, evidence.failure.stage)) return true;
  // A job that hangs has caught and logged the exceptions that its output shows.
  if (hung(evidence) && one.cause->id == cause::kUserException && one.source != "exception")
    return true;
  if (one.cause->id == cause::kAbortAtExit) return true;
  // Ranks of one node meet over the loopback by right.
  if (one.cause->id == cause::kNameResolution && evidence.nodes == 1 &&
      one.line.find("connectFullMesh") != std::string::npos)
    return true;
  return one.cause->id == cause::kHostOom && evidence.oom_kills == 0;
}

}  // namespace

Case open_case(const Evidence& evidence, const Catalogue& catalogue) {
  std::vector<Sighting> all;
  for (const RankRaised& exception : evidence.failure.raised)
    std::ranges::move(sightings(exception, catalogue), std::back_inserter(all));
  FirstSigns signs = signs_of(evidence, all);
  const auto rank = first_failed(signs);
  const FailedFirst first{rank, status_of(evidence, rank)};
  for (const Output& output : evidence.output)
    std::ranges::move(sightings(output, catalogue), std::back_inserter(all));
  if (first.status)
    std::ranges::move(sightings(*first.status, first.rank, catalogue), std::back_inserter(all));
  std::erase_if(all, [&](const Sighting& one) { return misleads(one, evidence); });
  std::ranges::stable_partition(all, [&](const Sighting& one) { return one.rank == first.rank; });
  sort_by_weight(all);
  return {evidence, catalogue, std::move(all), std::move(signs), first};
}

}  // namespace safelaunch::diagnose
