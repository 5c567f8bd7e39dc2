#include "safelaunch/run/probe_diagnosis.h"

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/diagnose/explain.h"
#include "safelaunch/diagnose/own_causes.h"

namespace safelaunch {
namespace {

std::vector<Sighting> sightings_in(const ProbeOutcome& outcome) {
  std::string text = outcome.log;
  if (const auto* failed = std::get_if<ProbeFailed>(&outcome.verdict))
    for (const RankFailure& failure : failed->failures) text += failure.words + "\n";
  return read_log(text, catalogue());
}

}  // namespace

std::string cause_of(const ProbeOutcome& outcome) {
  const auto shown = sightings_in(outcome);
  return shown.empty() ? "" : shown.front().cause->id;
}

Diagnosis diagnose(const ProbeOutcome& outcome) {
  const auto phase = stopped_at(outcome.verdict);
  Diagnosis diagnosis;
  diagnosis.shown_by = sightings_in(outcome);
  diagnosis.failure.certainty = diagnosis.shown_by.empty() ? Certainty::guess : Certainty::matched;
  const Cause& cause = diagnosis.shown_by.empty() ? catalogue().at(cause::kCommError)
                                                  : *diagnosis.shown_by.front().cause;
  diagnosis.failure.cause = cause.id;
  diagnosis.failure.title = cause.title;
  diagnosis.failure.remedy = cause.remedy;
  diagnosis.failure.explanation =
      fmt::format("a probe under the same profile got no further than {}: {}",
                  phase ? name(*phase) : "its start", reason(outcome.verdict));
  diagnosis.decision = FallBack{};
  if (cause.retry == Retry::never) diagnosis.decision = Stop{StopReason::hopeless};
  return diagnosis;
}

}  // namespace safelaunch
