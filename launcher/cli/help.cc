#include "help.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/version.h"
#include "verbs.h"

// The help of a verb is made of its row and its options, wrapped at 80 columns.
namespace safelaunch::cli {
namespace {

constexpr std::size_t kMargin = 2;
constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kVerbColumn = 14;

std::string row(std::string_view left, std::string_view help, std::size_t column = kHelpColumn) {
  std::string text = fmt::format("{:{}}{}", "", kMargin, left);
  if (text.size() + 1 > column)
    text += "\n" + std::string(column, ' ');
  else
    text.resize(column, ' ');
  return text + wrapped(help, column) + "\n";
}

std::string help_and_fallback(const settings::Option& option) {
  const std::string help = tr(option.help);
  if (option.fallback.empty()) return help;
  const bool is_in_words = option.fallback.find(' ') != std::string_view::npos;
  return fmt::format("{} [{}]", help,
                     is_in_words ? tr(option.fallback) : std::string(option.fallback));
}

std::string options_in_words(const Verb& verb) {
  std::string text;
  for (const settings::Option* option : options_of(verb)) {
    if (!option->heading.empty()) text += "\n" + tr(fmt::format("{}:", option->heading)) + "\n";
    text += row(spelling(*option), help_and_fallback(*option));
  }
  return text;
}

// One line each.
std::string examples_in_words(const Verb& verb) {
  std::string text = "\n" + tr("Example:") + "\n";
  for (std::string_view rest = verb.example; !rest.empty();)
    text += fmt::format("  {}\n", take_word(rest, '\n'));
  return text;
}

std::string rows_of(std::span<const Verb* const> verbs) {
  std::string text;
  for (const Verb* verb : verbs) text += row(verb->name, tr(verb->help), kVerbColumn);
  return text;
}

std::string usage_of(const Verb& verb) {
  const std::string begin = fmt::format("{} safelaunch {} ", tr("Usage:"), verb.name);
  if (verb.usage.empty()) return begin.substr(0, begin.size() - 1);
  return begin + wrapped(verb.usage, columns(begin));
}

int tell_version(NoOptions /*given*/, const std::vector<std::string>& /*rest*/) {
  return answer(fmt::format("safelaunch {}\n", version()));
}

template <std::string (*of_no_verb)()>
int tell_help(NoOptions /*given*/, const std::vector<std::string>& rest) {
  return tell(rest.empty() ? of_no_verb() : help_about(rest.front()));
}

int tell_whole_help(const Verb& /*itself*/, std::span<const std::string> words) {
  return reads<NoOptions, tell_help<general_help>>(kHelpVerb, words);
}

std::string usage() {
  const std::string begin = tr("Usage:") + " ";
  return fmt::format(
      "{}safelaunch [OPTIONS] [--] COMMAND [ARG...]\n{:{}}safelaunch VERB ...\n\n{}\n\n", begin, "",
      columns(begin),
      wrapped(tr("Gets a distributed training command past its first all_reduce, or names the "
                 "cause."),
              0));
}

// For somebody who has not read anything yet.
constexpr std::array kFirstVerbs{&kStacksVerb, &kStatusVerb,  &kReportVerb, &kLogsVerb,
                                 &kStopVerb,   &kExplainVerb, &kDoctorVerb, &kTestVerb,
                                 &kProbeVerb,  &kCleanVerb};
constexpr std::array<std::string_view, 6> kFirstOptions{"profile",       "only", "init-timeout",
                                                        "stall-timeout", "set",  "dry-run"};

}  // namespace

std::string spelling(const settings::Option& option) {
  std::string text = fmt::format("--{}", option.name);
  if (option.letter != 0) text = fmt::format("-{},{}", option.letter, text);
  const std::string_view value = settings::placeholder(option);
  const bool may_stand_alone = option.kind == settings::OptionKind::flag;
  if (!value.empty())
    text += may_stand_alone ? fmt::format("[={}]", value) : fmt::format(" {}", value);
  if (option.kind == settings::OptionKind::texts || option.kind == settings::OptionKind::list)
    text += " ...";
  return text;
}

std::string help_of(const Verb& verb) {
  if (&verb == &kRunVerb) return general_help();
  return fmt::format("{}\n\n{}\n\n{}\n{}{}{}", usage_of(verb), wrapped(tr(verb.purpose), 0),
                     tr("Options:"), options_in_words(verb), row("-h,--help", tr("this")),
                     examples_in_words(verb));
}

Result<std::string> help_about(std::string_view word) {
  if (is_verb(word)) return help_of(find_verb(word));
  const std::string near = did_you_mean_verb(word);
  return Error{Errc::usage, fmt::format("there is no verb '{}'{}", word,
                                        near.empty() ? "; safelaunch help lists them" : near)};
}

std::string short_help() {
  std::string text = usage() + tr("Verbs:") + "\n" + rows_of(kFirstVerbs) + "\n" +
                     tr("Options before COMMAND:") + "\n";
  for (const settings::Option* option : options_of(kRunVerb))
    if (std::ranges::find(kFirstOptions, option->name) != kFirstOptions.end())
      text += row(spelling(*option), tr(option->help));
  return text + examples_in_words(kRunVerb) + "\n" +
         tr("All verbs and options: safelaunch --help   One verb: safelaunch help VERB") + "\n";
}

std::string general_help() {
  return usage() + tr("Verbs (safelaunch help VERB tells more):") + "\n" + rows_of(verbs()) + "\n" +
         wrapped(tr("Options, each also in the environment (SAFELAUNCH_INIT_TIMEOUT=60s) or in "
                    "safelaunch.yaml:"),
                 0) +
         "\n" + options_in_words(kRunVerb) + examples_in_words(kRunVerb);
}

const Verb kVersionVerb{.name = "version",
                        .function = reads<NoOptions, tell_version>,
                        .help = "the version",
                        .purpose = "The version, as --version and -V.",
                        .example = "safelaunch version"};
const Verb kHelpVerb{.name = "help",
                     .function = reads<NoOptions, tell_help<short_help>>,
                     .usage = "[VERB]",
                     .purpose =
                         "What is needed first, on one screen, or all about VERB; --help: all "
                         "verbs, and the options of a run.",
                     .example = "safelaunch help report",
                     .takes = "verb"};
const Verb kWholeHelpVerb{.name = "help", .function = tell_whole_help, .takes = "verb"};

}  // namespace safelaunch::cli
