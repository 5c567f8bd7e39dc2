#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/time.h"

namespace safelaunch {

class Redactor;

/// How an attempt ended.
enum class AttemptEnd {
  completed,    ///< the command ended with status 0
  failed_user,  ///< it ended otherwise, and not for a reason of communication
  failed_comm,  ///< communication failed before the first collective
  hung,         ///< ranks waited for something that never came
  stalled,      ///< it trained, and then stood still until we ended it
  interrupted,  ///< a signal to us ended it
  given_up,     ///< ended by us before it had failed: a probe showed that it would
};

[[nodiscard]] const char* name(AttemptEnd end);

/// What is told of one attempt. Plain values: whoever fills them has decided already.
struct AttemptSummary {
  int number = 1;
  std::string profile;
  AttemptEnd end = AttemptEnd::completed;
  Duration took{};
  std::string stages;              ///< "group 4/4 · collective 3/4": how far the ranks had come
  std::string cause_id;            ///< "rank-missing"; empty where nothing went wrong
  std::string cause;               ///< the cause's title in plain words
  std::string certainty;           ///< matched, confirmed, guess
  std::string explanation;         ///< who waited, who was missing and what it was doing
  std::vector<std::string> lines;  ///< the lines that show it
  std::string remedy;              ///< what a person can do about it
  bool told_by_itself = false;     ///< its own words stand last on the screen and say it all
  std::string next;                ///< "conservative: next in the chain"; empty at the end
};

/// What is told of a whole run.
struct RunSummary {
  std::string run_id;
  std::vector<std::string> command;  ///< redacted
  std::vector<AttemptSummary> attempts;
  int exit_code = 0;
  std::string stopped_because;  ///< why no further profile was tried; empty after a success
  std::string cost;             ///< what the profile that worked costs; empty where nothing
  std::string directory;        ///< where the logs are; empty where nothing is recorded
};

/// The same without secrets, which the redactor learns from its lines.
[[nodiscard]] RunSummary redacted(RunSummary summary, Redactor& redactor);

/// outcome.json, indented.
[[nodiscard]] std::string outcome_json(const RunSummary& summary);

/// Reads back what outcome_json wrote; nullopt where the text is no such thing. What is missing in
/// it stays empty.
[[nodiscard]] std::optional<RunSummary> read_outcome(std::string_view text);

/// Whether there is anything to tell: a job that ran at once needs no word of ours.
[[nodiscard]] bool worth_telling(const RunSummary& summary);

/// The closing screen, lines separated by \n; `colour` adds SGR colours for a terminal. Each line
/// begins with `prefix`, which tells it from the job's own.
enum class Colour { off, on };
[[nodiscard]] std::string closing_screen(const RunSummary& summary, Colour colour,
                                         std::string_view prefix = "safelaunch: ");

/// "hung, stopped after 32s".
[[nodiscard]] std::string end_in_words(const AttemptSummary& attempt);

}  // namespace safelaunch
