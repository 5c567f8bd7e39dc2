#pragma once

#include <span>
#include <string>
#include <string_view>

namespace safelaunch::cli {

/// A verb's words, without the verb itself; returns the status to exit with.
using VerbFunction = int (*)(std::span<const std::string> words);

/// Whether a verb starts a job, and hence needs the guardian.
enum class StartsJob { no, yes };

/// What `safelaunch WORD …` does.
struct Verb {
  std::string_view name;
  VerbFunction function;
  StartsJob starts_job = StartsJob::no;
  std::string_view help;
};

/// The verb that the first word names; `run` where it names none, since then it is an option or the
/// command.
[[nodiscard]] const Verb& find_verb(std::string_view word);

/// Whether the word is a verb, so that it is not the command's first.
[[nodiscard]] bool is_verb(std::string_view word);

/// "; did you mean the verb 'report'?" where one is near, else empty: the tail of an error.
[[nodiscard]] std::string did_you_mean_verb(std::string_view word);

/// `safelaunch --help`.
[[nodiscard]] std::string general_help();

// One file each: launcher/cli/verb_NAME.cc.
int verb_run(std::span<const std::string> words);
int verb_probe(std::span<const std::string> words);
int verb_profiles(std::span<const std::string> words);
int verb_status(std::span<const std::string> words);
int verb_runs(std::span<const std::string> words);
int verb_report(std::span<const std::string> words);
int verb_explain(std::span<const std::string> words);
int verb_doctor(std::span<const std::string> words);
int verb_clean(std::span<const std::string> words);
int verb_version(std::span<const std::string> words);
int verb_help(std::span<const std::string> words);

}  // namespace safelaunch::cli
