#pragma once

#include <filesystem>

#include "safelaunch/base/failure.h"
#include "safelaunch/base/time.h"

namespace safelaunch::redact {
class Redactor;
}  // namespace safelaunch::redact

namespace safelaunch::report {

/// One attempt in a few words and values, for the screen and for outcome.json.
struct AttemptSummary {
  int number = 1;
  std::string profile;
  Duration took{};
  std::string stages;              ///< how far the ranks came: "group 4/4 · collective 3/4"
  std::optional<Failure> failure;  ///< none if the command ended with status 0
  bool told_by_itself = false;     ///< the job's own last words on the screen explain it
  std::string next;      ///< "conservative: next in the chain"; empty for the last attempt
  bool resumes = false;  ///< the next one starts the training again; not in outcome.json
};

/// How an attempt ended, in the words of outcome.json: "completed", "failed in communication".
[[nodiscard]] const char* end_name(const std::optional<Failure>& failure);

/// A whole run, for the closing screen and for outcome.json.
struct RunSummary {
  std::string run_id;
  std::vector<std::string> command;  ///< the command without secrets
  std::vector<AttemptSummary> attempts;
  int exit_code = 0;
  std::string stopped_because;  ///< why no further profile was tried; empty after a success
  std::string cost;             ///< the cost of the profile that worked; empty if it costs nothing
  std::string directory;        ///< the run directory; empty if nothing is recorded
};

/// The summary without secrets, which the redactor learns from its lines.
[[nodiscard]] RunSummary redacted(RunSummary summary, redact::Redactor& redactor);

/// outcome.json, indented.
[[nodiscard]] std::string outcome_json(const RunSummary& summary);

/// Reads what outcome_json wrote, in this or an older version; nullopt if the text is no outcome. A
/// field that it lacks stays empty.
[[nodiscard]] std::optional<RunSummary> read_outcome(std::string_view text);

/// Whether the run needs a closing screen: a job that worked at once needs none.
[[nodiscard]] bool worth_telling(const RunSummary& summary);

/// The verdict in a few words: the failure's headline, else the title of its cause.
[[nodiscard]] std::string headline(const Failure& failure);

/// "20261126-095523-84a086" -> "84a086", which the verbs take for the run.
[[nodiscard]] std::string_view short_id(std::string_view run_id);

/// The closing screen, inked, lines separated by \n: the verdict, the place in the program, the
/// cause and the way out, then the attempts. Where the user has read an attempt's verdict as the
/// next one began, the screen does not say it again.
enum class Fallbacks { untold, told };
[[nodiscard]] std::string closing_screen(const RunSummary& summary,
                                         Fallbacks fallbacks = Fallbacks::untold);

/// The places of a failure's missing ranks, each with its line of source where the Python file is
/// there and has not changed: "train.py:12 in load_data:  queue.get()". A relative path counts from
/// `directory`.
[[nodiscard]] std::vector<std::string> with_source_lines(const Failure& failure,
                                                         const std::filesystem::path& directory);

/// The lines of it on one attempt that failed, without what follows.
[[nodiscard]] std::string verdict_screen(const AttemptSummary& attempt);

/// "hung, stopped after 32s".
[[nodiscard]] std::string end_in_words(const AttemptSummary& attempt);

}  // namespace safelaunch::report
