#include "verbs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "help.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/harmless.h"
#include "safelaunch/base/strings.h"

// The first word decides: a verb, another spelling of one, or else an option or the command. All
// output of a verb reaches the terminal through harmless(), since it may quote texts of others. An
// answer that stdout does not take is told once, whatever number of parts the verb writes it in.
namespace safelaunch::cli {
namespace {

constexpr std::array kVerbs{
    &kRunVerb,     &kInitVerb,   &kTestVerb,  &kProbeVerb,      &kProfilesVerb, &kConfigVerb,
    &kStatusVerb,  &kStacksVerb, &kRunsVerb,  &kStopVerb,       &kLogsVerb,     &kReportVerb,
    &kExplainVerb, &kDoctorVerb, &kCleanVerb, &kCompletionVerb, &kManualVerb,   &kVersionVerb};

// Other spellings that everybody tries.
constexpr std::array kHelpWords{std::string_view("--help"), std::string_view("-h"),
                                std::string_view("help")};

const Verb* lookup(std::string_view word) {
  if (std::ranges::find(kHelpWords, word) != kHelpWords.end()) return &kHelpVerb;
  if (word == "--version" || word == "-V") return &kVersionVerb;
  if (word == "completions") return &kCompletionVerb;
  const auto found = std::ranges::find(kVerbs, word, &Verb::name);
  return found == kVerbs.end() ? nullptr : *found;
}

void say(std::string_view before, std::string_view text) {
  const std::string shown = harmless(text);
  std::fprintf(stderr, "safelaunch: %.*s%s\n", static_cast<int>(before.size()), before.data(),
               shown.c_str());
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

constexpr std::string_view kToEnd = "safelaunch stop RUN ends a job, as Ctrl-C in its terminal";
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

Result<settings::ReadWords> read_words_of(const Verb& verb, std::span<const std::string> words,
                                          void* target) {
  Result<settings::ReadWords> read =
      settings::read_words({verb.name, verb.options, verb.rest, verb.again}, words, target);
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

int answer(std::string_view text) {
  const std::string shown = harmless(text);
  const bool taken = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() &&
                     std::fflush(stdout) == 0;  // the next part may take half a minute
  if (taken || std::exchange(lost_answer, true) || errno == EPIPE) return 0;
  status_of_answers = refuse({Errc::not_written, fmt::format("cannot write: {}", strerror(errno))});
  return 0;
}

bool answers_are_taken() {
  return !lost_answer;
}

int with_answers(int status) {
  return status != 0 ? status : status_of_answers;
}

int refuse(const Error& error) {
  say("", error.message);
  return exit_code_of(error.code);
}

int tell(const Result<std::string>& text) {
  return text ? answer(*text) : refuse(text.error());
}

void warn(std::string_view text) {
  say("warning: ", text);
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
  return fmt::format("there is no verb '{}'; {}\nTo run {} all the same: safelaunch -- {}",
                     words.front(), *instead, program, join(words, " "));
}

}  // namespace safelaunch::cli
