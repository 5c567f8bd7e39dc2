#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/report/kept_runs.h"

/// What a person asks of a verb, read from the words behind it: explain, profiles, stacks.
namespace safelaunch::cli {

/// The question that `explain` answers.
struct Question {
  enum class About { cause, variable, log_file, log_on_stdin, sentence };
  About about = About::cause;
  std::string what;  ///< the cause's id, the variable, the file, or the words
};

/// What stands at a path.
enum class AtPath { nothing, file, folder };

/// Reads the words of `explain`. A cause comes before a variable that is known, that before a file
/// that is there, and that before all else. Errors (usage) name the nearest cause.
[[nodiscard]] Result<Question> question_in(std::span<const std::string> words,
                                           const std::function<AtPath(const std::string&)>& look);

/// The cause that an error's words name, explained, or that none is known.
[[nodiscard]] std::string explain_sentence(std::string_view words);

/// Whether a text from stdin is a person's sentence and no log: one line that shows no cause as a
/// log does, and names one as people do.
[[nodiscard]] bool is_sentence(std::string_view text);

/// What `profiles` is to show.
struct ProfilesWish {
  enum class Show { list, names, one, check, exports, schema_of_profile, schema_of_config };
  Show show = Show::list;
  std::string profile;  ///< of one, check and exports
};

/// Reads the words of `profiles`. Errors (usage) name the nearest right word.
[[nodiscard]] Result<ProfilesWish> profiles_wish(std::span<const std::string> words);

/// Of several running jobs a person has to name one. Error (usage): the ids.
[[nodiscard]] Result<void> check_only_one(std::span<const report::RunLine> running);

/// Why `stacks` cannot show a run that is over.
[[nodiscard]] Error not_running(const report::RunLine& line);

}  // namespace safelaunch::cli
