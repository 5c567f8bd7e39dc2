#include "json_fields.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {
namespace {

// By the word for its end: nullopt for an attempt that completed.
std::optional<Failure> failure_named(std::string_view word) {
  if (word == end_name(std::nullopt)) return std::nullopt;
  for (const FailureKind kind : {FailureKind::hung, FailureKind::stalled, FailureKind::interrupted,
                                 FailureKind::given_up, FailureKind::failed})
    for (const bool communication : {false, true}) {
      Failure failure{.kind = kind, .communication = communication};
      if (word == end_name(failure)) return failure;
    }
  return Failure{};
}

void read_cause(const Json& cause, Failure& failure) {
  failure.cause = text_of(cause, "id");
  failure.title = text_of(cause, "title");
  failure.certainty = certainty_named(text_of(cause, "certainty"));
  failure.explanation = text_of(cause, "explanation");
  failure.lines = texts_of(cause, "lines");
  failure.remedy = text_of(cause, "remedy");
}

AttemptSummary read_attempt(const Json& json) {
  AttemptSummary attempt;
  attempt.number = number_of(json, "attempt").value_or(0);
  attempt.profile = text_of(json, "profile");
  attempt.failure = failure_named(text_of(json, "end"));
  attempt.took = duration_of(json, "seconds");
  attempt.stages = text_of(json, "stages");
  attempt.next = text_of(json, "next");
  if (attempt.failure) read_cause(json.value("cause", Json::object()), *attempt.failure);
  return attempt;
}

}  // namespace

std::optional<RunSummary> read_outcome(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object() || !json.contains("attempts") || !json["attempts"].is_array())
    return std::nullopt;
  RunSummary summary;
  summary.run_id = text_of(json, "run");
  summary.command = texts_of(json, "command");
  summary.exit_code = number_of(json, "exit_status").value_or(0);
  summary.cost = text_of(json, "cost");
  summary.stopped_because = text_of(json, "stopped_because");
  summary.directory = text_of(json, "directory");
  for (const Json& attempt : json["attempts"])
    if (attempt.is_object()) summary.attempts.push_back(read_attempt(attempt));
  return summary;
}

}  // namespace safelaunch::report
