#include "safelaunch/probe/probe_diagnosis.h"

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/explain.h"

// A probe that failed is diagnosed as a job would be: by what NCCL wrote in it. If nothing it wrote
// is known, the cause is a guess, and another profile may still do better.
namespace safelaunch::probe {
namespace {

std::vector<diagnose::Sighting> sightings_in(const Outcome& outcome) {
  std::string text = outcome.log;
  if (const auto* failed = std::get_if<Failed>(&outcome.verdict))
    for (const RankFailure& failure : failed->failures) text += failure.words + "\n";
  return diagnose::read_log(text, diagnose::catalogue());
}

}  // namespace

std::string cause_of(const Outcome& outcome) {
  const auto shown = sightings_in(outcome);
  return shown.empty() ? "" : shown.front().cause->id;
}

diagnose::Diagnosis diagnosis_of(const Outcome& outcome) {
  const auto phase = stopped_at(outcome.verdict);
  diagnose::Diagnosis diagnosis;
  diagnosis.shown_by = sightings_in(outcome);
  diagnosis.failure.certainty = diagnosis.shown_by.empty() ? Certainty::guess : Certainty::matched;
  const diagnose::Cause& cause = diagnosis.shown_by.empty()
                                     ? diagnose::catalogue().at(cause::kCommError)
                                     : *diagnosis.shown_by.front().cause;
  diagnosis.failure.cause = cause.id;
  diagnosis.failure.title = cause.title;
  diagnosis.failure.remedy = cause.remedy;
  diagnosis.failure.explanation =
      fmt::format("a probe under the same profile stopped at {}: {}",
                  phase ? name(*phase) : "its start", reason(outcome.verdict));
  diagnosis.decision = diagnose::FallBack{};
  if (cause.retry == diagnose::Retry::never)
    diagnosis.decision = diagnose::Stop{diagnose::StopReason::hopeless};
  return diagnosis;
}

}  // namespace safelaunch::probe
