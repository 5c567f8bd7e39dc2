#pragma once

#include <optional>
#include <span>

#include "safelaunch/base/result.h"
#include "safelaunch/settings/read_words.h"

namespace safelaunch::cli {

struct Verb;

/// Takes the verb and the words behind it; returns the status to exit with.
using VerbFunction = int (*)(const Verb& verb, std::span<const std::string> words);

/// Whether a verb starts a job, and hence needs the guardian.
enum class StartsJob { no, yes };

/// A verb is what `safelaunch WORD …` does. Help, completions and the man page are made of it.
struct Verb {
  std::string_view name = {};
  VerbFunction function = nullptr;
  StartsJob starts_job = StartsJob::no;
  std::string_view help = {};     ///< its line in the list of verbs
  std::string_view usage = {};    ///< follows "safelaunch VERB"
  std::string_view purpose = {};  ///< its purpose, in sentences
  std::string_view example = {};  ///< a line or two to type, each below 80 columns
  std::span<const settings::Option> options = {};
  settings::Rest rest = settings::Rest::words;
  settings::Again again = settings::Again::refused;
  std::string_view words = {};  ///< they may stand first, for completions: "list|show"
  std::string_view takes = {};  ///< the one word that it takes, as "run or pid"; empty: none
};

/// `takes` of a verb that reads its words by itself.
inline constexpr std::string_view kManyWords = "any";

/// All verbs, `run` first.
[[nodiscard]] std::span<const Verb* const> verbs();

/// The verb that the first word names; kNoVerb where it names none, since then it is an option or
/// the command.
[[nodiscard]] const Verb& find_verb(std::string_view word);

/// The words of the command line behind the verb, or all where there is none.
[[nodiscard]] std::vector<std::string> words_behind(int argc, char** argv);

/// Whether the word is a verb, so that it is not the command's first.
[[nodiscard]] bool is_verb(std::string_view word);

/// "; did you mean the verb 'report'?" where one is near, else empty: the tail of an error.
[[nodiscard]] std::string did_you_mean_verb(std::string_view word);

/// Reads a verb's words into `target`, the struct that its table of options fills. Errors are those
/// of read_words(), with the way to the verb's help, and a word too many.
[[nodiscard]] Result<settings::ReadWords> read_words_of(const Verb& verb,
                                                        std::span<const std::string> words,
                                                        void* target);

/// Reads the words, and where nothing else is to be done (--help, a wrong word), prints what is to
/// be said and returns the status to exit with.
[[nodiscard]] std::optional<int> settle(const Verb& verb, std::span<const std::string> words,
                                        void* target, std::vector<std::string>& rest);

/// The function of a verb that `act` performs once its words are read: into the struct of its
/// options, and the rest.
template <class Options, auto act>
int reads(const Verb& verb, std::span<const std::string> words) {
  Options given;
  std::vector<std::string> rest;
  if (const auto status = settle(verb, words, &given, rest)) return *status;
  return act(given, rest);
}

/// The struct of a verb without options of its own.
struct NoOptions {};

// Each verb has a file, launcher/cli/verb_NAME.cc; a verb that only shows what another file makes
// stands there (help, manual, completions, recorded_runs).
extern const Verb kRunVerb;
extern const Verb kInitVerb;
extern const Verb kProbeVerb;
extern const Verb kTestVerb;
extern const Verb kProfilesVerb;
extern const Verb kConfigVerb;
extern const Verb kStatusVerb;
extern const Verb kStacksVerb;
extern const Verb kRunsVerb;
extern const Verb kStopVerb;
extern const Verb kLogsVerb;
extern const Verb kReportVerb;
extern const Verb kExplainVerb;
extern const Verb kDoctorVerb;
extern const Verb kCleanVerb;
extern const Verb kMcpVerb;
extern const Verb kCompletionVerb;
extern const Verb kManualVerb;
extern const Verb kVersionVerb;
extern const Verb kHelpVerb;
extern const Verb kWholeHelpVerb;

/// Runs a command as kRunVerb does, unless its first word looks like a verb.
extern const Verb kNoVerb;

/// Writes a verb's answer to stdout, whole and at once. Returns the status 0: with_answers() makes
/// another of it where stdout did not take the answer, a part of one as well. The first time this
/// says why, unless a reader has gone (`| head -1`).
int answer(std::string_view text);

/// As answer(), for texts that people read: on a terminal their lines are wrapped at its width.
int answer_in_prose(std::string_view text);

/// The options that every verb has; run has its own of these names.
[[nodiscard]] std::span<const settings::Option> common_options();
/// All options of a verb: its own, then the common ones that it has not.
[[nodiscard]] std::vector<const settings::Option*> options_of(const Verb& verb);

/// Whether stdout has taken all answers so far: a verb that goes on for ever ends where it has not.
[[nodiscard]] bool answers_are_taken();

/// The status of safelaunch behind a verb that ends with `status`: the verb's own, unless that is 0
/// and an answer could not be written.
[[nodiscard]] int with_answers(int status);

/// Says on stderr why a verb cannot do what it was asked. Returns the status for that error.
int refuse(const Error& error);

/// Writes the answer, or says why there is none. Returns the status.
int tell(const Result<std::string>& text);

/// Whether a person can be asked: stdin and stderr are a terminal.
[[nodiscard]] bool can_ask();

/// Asks on the terminal, behind `question`. Returns the line; nullopt at its end (Ctrl-D).
[[nodiscard]] std::optional<std::string> ask(const std::string& question);

/// Shows a person a text on stderr, wrapped at the width of a terminal.
void show_to_person(std::string_view text);

/// A word of warning on stderr.
void warn(std::string_view text);

// Words that other tools have as verbs and safelaunch has not: "watch", "kill", "ps". Many of them
// are programs of the system, and such a program would run as a job of its own.

/// The way in which safelaunch does what the verb `word` means elsewhere; nullopt where no tool has
/// such a verb.
[[nodiscard]] std::optional<std::string_view> instead_of(std::string_view word);

/// Why the words behind `safelaunch` are refused: the first is such a word, and `program` is the
/// file of the system that it would start. Nobody's own program is refused, and neither are words
/// behind "run" or "--". nullopt: they are a command.
[[nodiscard]] std::optional<std::string> no_verb(std::span<const std::string> words,
                                                 std::string_view program);

}  // namespace safelaunch::cli
