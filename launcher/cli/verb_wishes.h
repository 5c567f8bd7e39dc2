#pragma once

#include <functional>
#include <span>

#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/report/kept_runs.h"
#include "safelaunch/settings/run_options.h"

/// The wishes that a person has of a verb, read from the words behind it: explain, profiles,
/// stacks.
namespace safelaunch::cli {

// The options of the verbs, and the words behind them where a verb keeps those. probe_plan.h has
// those of probe, and settings/run_options.h those of a run.

struct CleanWords {
  settings::CleanPolicy policy = settings::CleanPolicy::ours;
  bool all_mine = false;
  std::optional<int> pid{};
  bool yes = false;
  bool dry_run = false;
  bool json = false;
};

struct ConfigWords {
  bool json = false;
};

struct DoctorWords {
  bool json = false;
  bool fix = false;
  std::vector<std::string> command{};
};

struct ExplainWords {
  bool json = false;
};

struct InitWords {
  bool yes = false;
  bool force = false;
  bool user = false;
};

struct LogsWords {
  bool follow = false;
  std::optional<int> rank{};
};

struct ProfilesWords {
  bool json = false;
};

struct ReportWords {
  std::vector<std::string> runs{};  ///< the runs to report; none: the newest
  std::string html{};               ///< the file for the page; empty: none
  std::string bundle{};             ///< the file for the bundle; empty: none
  bool json = false;
  bool open = false;  ///< show the page in a browser
};

struct RunsWords {
  std::optional<int> newest{};
  bool failed = false;
  bool json = false;
  bool ids = false;
};

struct StacksWords {
  bool all = false;
  bool tree = false;
  bool json = false;
};

struct StatusWords {
  bool watching = false;
  bool all_users = false;
  bool json = false;
};

struct StopWords {
  bool now = false;
};

struct TestWords {
  std::optional<int> ranks{};
  std::vector<std::string> fewer{};
  std::vector<std::string> backends{};
  std::optional<Duration> init_timeout{};
  std::optional<Duration> collective_timeout{};
  std::optional<Duration> start_timeout{};
  bool json = false;
  std::vector<std::string> command{};
};

/// The leftovers that `clean` may end and remove: --all-mine allows the most.
[[nodiscard]] settings::CleanPolicy policy_of(const CleanWords& words);

/// The question that `explain` answers.
struct Question {
  enum class About { cause, variable, log_file, log_in_pipe, log_on_stdin, sentence };
  About about = About::cause;
  std::string what;  ///< the cause's id, the variable, the file, or the words
};

/// The kind of thing at a path.
enum class AtPath { nothing, file, pipe, folder };

/// Reads the words of `explain`. A cause comes before a variable that is known, that before a file
/// that is there, and that before all else. Errors (usage) name the nearest cause.
[[nodiscard]] Result<Question> question_in(std::span<const std::string> words,
                                           const std::function<AtPath(const std::string&)>& look);

/// The causes that an error's words name, the likeliest first.
[[nodiscard]] std::vector<const diagnose::Cause*> causes_in_sentence(std::string_view words);

/// The cause that an error's words name, explained, or that none is known.
[[nodiscard]] std::string explain_sentence(std::string_view words);

/// Whether a text from stdin is a person's sentence and no log: one line that shows no cause as a
/// log does, and names one as people do.
[[nodiscard]] bool is_sentence(std::string_view text);

/// The part of the profiles that `profiles` is to show.
struct ProfilesWish {
  enum class Show { list, names, one, check, exports, schema_of_profile, schema_of_config };
  Show show = Show::list;
  std::string profile;  ///< the profile's name, for one, check and exports
};

/// Reads the words of `profiles`. Errors (usage) name the nearest right word.
[[nodiscard]] Result<ProfilesWish> profiles_wish(std::span<const std::string> words);

/// The part of the settings that `config` is to show.
struct ConfigWish {
  enum class Show { settings, check, places };
  Show show = Show::settings;
  std::vector<std::string> files{};  ///< the files to check; none: those that a run reads
};

/// Reads the words of `config`. Errors (usage) name the nearest right word.
[[nodiscard]] Result<ConfigWish> config_wish(std::span<const std::string> words);

/// Of several running jobs a person has to name one. Error (usage): the ids.
[[nodiscard]] Result<void> check_only_one(std::span<const report::RunLine> running);

/// A verb that ends a job takes none by itself. Error (usage): those that run.
[[nodiscard]] Error no_run_named(std::string_view verb, std::span<const report::RunLine> running);

/// Why `stacks` and `stop` can do nothing with a run that is over.
[[nodiscard]] Error not_running(const report::RunLine& line);

}  // namespace safelaunch::cli
