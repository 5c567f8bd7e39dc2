#include "verbs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "help.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/harmless.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/output/std_streams.h"
#include "safelaunch/profile/profile.h"

// The first word decides: a verb, another spelling of one, or else an option or the command. All
// output of a verb reaches the terminal through harmless(), since it may quote texts of others. An
// answer that stdout does not take is told once, whatever number of parts the verb writes it in.
namespace safelaunch::cli {
namespace {

constexpr std::array kVerbs{&kRunVerb,        &kInitVerb,   &kTestVerb,   &kProbeVerb,
                            &kProfilesVerb,   &kConfigVerb, &kStatusVerb, &kStacksVerb,
                            &kRunsVerb,       &kStopVerb,   &kLogsVerb,   &kReportVerb,
                            &kExplainVerb,    &kDoctorVerb, &kCleanVerb,  &kMcpVerb,
                            &kCompletionVerb, &kManualVerb, &kVersionVerb};

const Verb* lookup(std::string_view word) {
  if (word == "help" || word == "-h") return &kHelpVerb;
  if (word == "--help") return &kWholeHelpVerb;
  if (word == "--version" || word == "-V") return &kVersionVerb;
  if (word == "completions") return &kCompletionVerb;
  const auto found = std::ranges::find(kVerbs, word, &Verb::name);
  return found == kVerbs.end() ? nullptr : *found;
}

// A verb that takes one word at most is told of the next.
Result<void> check_number(const Verb& verb, const std::vector<std::string>& rest) {
  const std::size_t most = verb.takes.empty() ? 0 : 1;
  if (verb.rest == settings::Rest::command || verb.takes == kManyWords || rest.size() <= most)
    return {};
  const std::string& word = rest[most];
  return Error{Errc::usage, most == 0 ? fmt::format("{} takes no '{}'", verb.name, word)
                                      : fmt::format("{} takes one {}, not also '{}'", verb.name,
                                                    verb.takes, word)};
}

struct ForeignVerb {
  std::string_view word;
  std::string_view instead;
};

constexpr std::string_view kToEnd = "safelaunch stop RUN ends a job in order, as TERM does";
constexpr std::string_view kToSee = "safelaunch status --watch shows your running jobs";
constexpr std::string_view kToList = "safelaunch runs lists the runs";
constexpr std::string_view kToReport = "safelaunch report shows what a run did";
constexpr std::string_view kToRead = "safelaunch logs shows the output of a run";
constexpr std::string_view kToCheck = "safelaunch doctor checks this host";
constexpr std::string_view kToClean = "safelaunch clean removes what earlier runs left";
constexpr std::string_view kToStart = "safelaunch COMMAND starts a job";

// Words that people put before a training command (time, nice, env, timeout, make, tini) are left
// out.
constexpr std::array kForeignVerbs{
    ForeignVerb{"attach", kToSee},    ForeignVerb{"cancel", kToEnd},
    ForeignVerb{"check", kToCheck},   ForeignVerb{"cleanup", kToClean},
    ForeignVerb{"clear", kToClean},   ForeignVerb{"diagnose", kToCheck},
    ForeignVerb{"end", kToEnd},       ForeignVerb{"history", kToList},
    ForeignVerb{"info", kToCheck},    ForeignVerb{"kill", kToEnd},
    ForeignVerb{"killall", kToEnd},   ForeignVerb{"launch", kToStart},
    ForeignVerb{"list", kToList},     ForeignVerb{"log", kToRead},
    ForeignVerb{"ls", kToList},       ForeignVerb{"monitor", kToSee},
    ForeignVerb{"pkill", kToEnd},     ForeignVerb{"ps", kToSee},
    ForeignVerb{"show", kToReport},   ForeignVerb{"start", kToStart},
    ForeignVerb{"stat", kToSee},      ForeignVerb{"tail", kToRead},
    ForeignVerb{"terminate", kToEnd}, ForeignVerb{"top", kToSee},
    ForeignVerb{"watch", kToSee},
};

ColourWish colour_wish = ColourWish::automatic;

void put_colour(const settings::Option& option, void* target, std::string_view value) {
  settings::option_value::read(option, value, *static_cast<ColourWish*>(target));
}

void put_no_colour(const settings::Option&, void* target, std::string_view value) {
  if (settings::option_value::flag(value)) *static_cast<ColourWish*>(target) = ColourWish::never;
}

bool lost_answer = false;  // a part of an answer was lost, or its reader has gone
int status_of_answers = 0;

constexpr std::array<std::string_view, 4> kFoldersOfTheSystem{"/bin", "/usr/bin", "/sbin",
                                                              "/usr/sbin"};

}  // namespace

std::span<const Verb* const> verbs() {
  return kVerbs;
}

bool is_verb(std::string_view word) {
  return lookup(word) != nullptr;
}

const Verb& find_verb(std::string_view word) {
  const Verb* found = lookup(word);
  return found != nullptr ? *found : kNoVerb;
}

std::vector<std::string> words_behind(int argc, char** argv) {
  if (argc < 2) return {};
  return {argv + (is_verb(argv[1]) ? 2 : 1), argv + argc};
}

std::string did_you_mean_verb(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Verb* verb : kVerbs) names.push_back(verb->name);
  const std::string_view near = nearest(word, names);
  return near.empty() ? "" : fmt::format("; did you mean the verb '{}'?", near);
}

std::span<const settings::Option> common_options() {
  static constexpr std::array kCommon{
      settings::Option{.name = "color",
                       .put = {put_colour, settings::OptionKind::choice},
                       .value = "WHEN",
                       .fallback = "auto",
                       .help = "whether the answer is coloured",
                       .choices = "auto|always|never"},
      settings::Option{.name = "no-color", .put = {put_no_colour}, .help = "--color never"},
  };
  return kCommon;
}

std::vector<const settings::Option*> options_of(const Verb& verb) {
  std::vector<const settings::Option*> options;
  for (const settings::Option& option : verb.options) options.push_back(&option);
  for (const settings::Option& option : common_options())
    if (settings::find_option(verb.options, option.name) == nullptr) options.push_back(&option);
  return options;
}

std::string key_of_a_profile(std::string_view word) {
  std::string key(word);
  std::ranges::replace(key, '-', '_');
  return profile::is_key(key)
             ? fmt::format("; '{}' is a key of a profile (safelaunch profiles schema)", key)
             : std::string();
}

Result<settings::ReadWords> read_words_of(const Verb& verb, std::span<const std::string> words,
                                          void* target) {
  Result<settings::ReadWords> read =
      settings::read_words({verb.name, verb.options, verb.rest, verb.again, common_options(),
                            &colour_wish, &verb == &kRunVerb ? key_of_a_profile : nullptr},
                           words, target);
  if (read && read->wants_help) return read;
  if (read) {
    if (const Result<void> fit = check_number(verb, read->rest); !fit) return fit.error();
    return read;
  }
  const std::string_view own = &verb == &kRunVerb ? "" : verb.name;
  return Error{read.error().code, fmt::format("{} (safelaunch {}{}--help lists the options)",
                                              read.error().message, own, own.empty() ? "" : " ")};
}

std::optional<int> settle(const Verb& verb, std::span<const std::string> words, void* target,
                          std::vector<std::string>& rest) {
  Result<settings::ReadWords> read = read_words_of(verb, words, target);
  if (!read) return refuse(read.error());
  if (read->wants_help) return answer(help_of(verb));
  rest = std::move(read->rest);
  return std::nullopt;
}

namespace {

// Each as it is; only where people read is a line wrapped.
enum class Lines { as_they_are, wrapped };

Paper paper_of(int stream, Lines lines) {
  const bool is_terminal = ::isatty(stream) != 0;
  const bool wraps = is_terminal && lines == Lines::wrapped;
  return {wraps ? output::terminal_columns(stream) : 0,
          takes_ink(colour_wish, is_terminal, current_environment())};
}

int write_answer(std::string_view text, Lines lines) {
  const std::string shown = laid_out(harmless(text), paper_of(STDOUT_FILENO, lines));
  const bool taken = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() &&
                     std::fflush(stdout) == 0;  // the next part may take half a minute
  if (taken || std::exchange(lost_answer, true) || errno == EPIPE) return 0;
  status_of_answers = refuse({Errc::not_written, fmt::format("cannot write: {}", strerror(errno))});
  return 0;
}

}  // namespace

int answer(std::string_view text) {
  return write_answer(text, Lines::as_they_are);
}

int answer_in_prose(std::string_view text) {
  return write_answer(text, Lines::wrapped);
}

bool answers_are_taken() {
  return !lost_answer;
}

int with_answers(int status) {
  return status != 0 ? status : status_of_answers;
}

void show_to_person(std::string_view text) {
  std::fputs(laid_out(harmless(text), paper_of(STDERR_FILENO, Lines::wrapped)).c_str(), stderr);
}

int refuse(const Error& error) {
  show_to_person(from_us(tr(error.message)) + "\n");
  return exit_code_of(error.code);
}

int tell(const Result<std::string>& text) {
  return text ? answer(*text) : refuse(text.error());
}

bool can_ask() {
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
}

std::optional<std::string> ask(const std::string& question) {
  std::fputs(question.c_str(), stderr);
  std::string line;
  return std::getline(std::cin, line) ? std::optional(line) : std::nullopt;
}

void warn(std::string_view text) {
  show_to_person(from_us(tr("warning: {}", tr(text))) + "\n");
}

// A first word that is no verb may be a command, or a verb that people expect from other tools. The
// second is answered with the right words instead of being run.

std::optional<std::string_view> instead_of(std::string_view word) {
  const auto found = std::ranges::find(kForeignVerbs, word, &ForeignVerb::word);
  return found == kForeignVerbs.end() ? std::nullopt : std::optional(found->instead);
}

std::optional<std::string> no_verb(std::span<const std::string> words, std::string_view program) {
  const auto instead = words.empty() ? std::nullopt : instead_of(words.front());
  const std::size_t slash = program.rfind('/');
  if (!instead || slash == std::string_view::npos) return std::nullopt;
  if (std::ranges::find(kFoldersOfTheSystem, program.substr(0, slash)) == kFoldersOfTheSystem.end())
    return std::nullopt;
  return tr(fmt::format("there is no verb '{}'; {}", words.front(), *instead)) + "\n" +
         tr("To run {} all the same: safelaunch -- {}", program, shell_line(words));
}

}  // namespace safelaunch::cli
