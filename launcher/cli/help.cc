#include "help.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"
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
  if (option.fallback.empty()) return std::string(option.help);
  return fmt::format("{} [{}]", option.help, option.fallback);
}

std::string options_in_words(const Verb& verb) {
  std::string text;
  for (const settings::Option* option : options_of(verb)) {
    if (!option->heading.empty()) text += fmt::format("\n{}:\n", option->heading);
    text += row(spelling(*option), help_and_fallback(*option));
  }
  return text;
}

// One line each.
std::string examples_in_words(const Verb& verb) {
  std::string text = "\nExample:\n";
  for (std::string_view rest = verb.example; !rest.empty();)
    text += fmt::format("  {}\n", take_word(rest, '\n'));
  return text;
}

std::string usage_of(const Verb& verb) {
  const std::string begin = fmt::format("Usage: safelaunch {} ", verb.name);
  if (verb.usage.empty()) return begin.substr(0, begin.size() - 1);
  return begin + wrapped(verb.usage, begin.size());
}

int tell_version(std::span<const std::string> words) {
  std::vector<std::string> rest;
  if (const auto status = settle(kVersionVerb, words, nullptr, rest)) return *status;
  return answer("safelaunch " SAFELAUNCH_VERSION "\n");
}

int tell_help(std::span<const std::string> words) {
  std::vector<std::string> rest;
  if (const auto status = settle(kHelpVerb, words, nullptr, rest)) return *status;
  return tell(rest.empty() ? general_help() : help_about(rest.front()));
}

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
  return fmt::format("{}\n\n{}\n\nOptions:\n{}{}{}", usage_of(verb), wrapped(verb.purpose, 0),
                     options_in_words(verb), row("-h,--help", "this"), examples_in_words(verb));
}

Result<std::string> help_about(std::string_view word) {
  if (is_verb(word)) return help_of(find_verb(word));
  return Error{Errc::usage, fmt::format("there is no verb '{}'{}", word, did_you_mean_verb(word))};
}

std::string general_help() {
  std::string text =
      "Usage: safelaunch [OPTIONS] [--] COMMAND [ARG...]\n"
      "       safelaunch VERB ...\n\n"
      "Gets a distributed training command past its first all_reduce, or names the\n"
      "cause.\n\n"
      "Verbs (safelaunch help VERB tells more):\n";
  for (const Verb* verb : verbs()) text += row(verb->name, verb->help, kVerbColumn);
  return text +
         "\nOptions, each also in the environment (SAFELAUNCH_INIT_TIMEOUT=60s) or in\n"
         "safelaunch.yaml:\n" +
         options_in_words(kRunVerb) + examples_in_words(kRunVerb);
}

const Verb kVersionVerb{.name = "version",
                        .function = tell_version,
                        .help = "the version",
                        .purpose = "The version, as --version and -V.",
                        .example = "safelaunch version"};
const Verb kHelpVerb{.name = "help",
                     .function = tell_help,
                     .usage = "[VERB]",
                     .purpose = "The verbs and the options of a run, or those of VERB.",
                     .example = "safelaunch help report",
                     .takes = "verb"};

}  // namespace safelaunch::cli
