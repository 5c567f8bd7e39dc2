#include <array>

#include "json_fields.h"
#include "safelaunch/report/summary.h"

namespace safelaunch {
namespace {

AttemptEnd end_named(std::string_view word) {
  constexpr std::array kEnds{
      AttemptEnd::completed,   AttemptEnd::failed_user, AttemptEnd::failed_comm, AttemptEnd::hung,
      AttemptEnd::interrupted, AttemptEnd::given_up,    AttemptEnd::stalled};
  for (const AttemptEnd end : kEnds)
    if (word == name(end)) return end;
  return AttemptEnd::failed_user;
}

AttemptSummary read_attempt(const Json& json) {
  AttemptSummary attempt;
  attempt.number = number_of(json, "attempt").value_or(0);
  attempt.profile = text_of(json, "profile");
  attempt.end = end_named(text_of(json, "end"));
  attempt.took = duration_of(json, "seconds");
  attempt.stages = text_of(json, "stages");
  attempt.next = text_of(json, "next");
  const Json cause = json.value("cause", Json::object());
  attempt.cause_id = text_of(cause, "id");
  attempt.cause = text_of(cause, "title");
  attempt.certainty = text_of(cause, "certainty");
  attempt.explanation = text_of(cause, "explanation");
  attempt.lines = texts_of(cause, "lines");
  attempt.remedy = text_of(cause, "remedy");
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

}  // namespace safelaunch
