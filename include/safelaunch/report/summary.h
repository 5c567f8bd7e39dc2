#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/failure.h"
#include "safelaunch/base/time.h"

namespace safelaunch {
class Redactor;
}  // namespace safelaunch

namespace safelaunch::report {

/// What is told of one attempt. Plain values: whoever fills them has decided already.
struct AttemptSummary {
  int number = 1;
  std::string profile;
  Duration took{};
  std::string stages;              ///< "group 4/4 · collective 3/4": how far the ranks had come
  std::optional<Failure> failure;  ///< none: the command ended with status 0
  bool told_by_itself = false;     ///< its own words stand last on the screen and say it all
  std::string next;                ///< "conservative: next in the chain"; empty at the end
};

/// How an attempt ended, in the words of outcome.json: "completed", "failed in communication".
[[nodiscard]] const char* end_name(const std::optional<Failure>& failure);

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

}  // namespace safelaunch::report
