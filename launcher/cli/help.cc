#include "help.h"

#include <vector>

#include "answer.h"
#include "safelaunch/base/format.h"
#include "verbs.h"

namespace safelaunch::cli {
namespace {

constexpr std::size_t kMargin = 2;
constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kWidth = 100;

// The text from a column on, in lines that end before kWidth.
std::string wrapped(std::string_view text, std::size_t column) {
  std::string result;
  std::size_t at = column;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const bool is_first = at == column;
    if (!is_first && at + 1 + end > kWidth) {
      result += "\n" + std::string(column, ' ');
      at = column;
    } else if (!is_first) {
      result += ' ';
      ++at;
    }
    result += text.substr(0, end);
    at += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string row(std::string_view left, std::string_view help) {
  std::string text = fmt::format("{:{}}{}", "", kMargin, left);
  if (text.size() + kMargin > kHelpColumn)
    text += "\n" + std::string(kHelpColumn, ' ');
  else
    text.resize(kHelpColumn, ' ');
  return text + wrapped(help, kHelpColumn) + "\n";
}

std::string help_and_fallback(const settings::Option& option) {
  if (option.fallback.empty()) return std::string(option.help);
  return fmt::format("{} [{}]", option.help, option.fallback);
}

std::string options_in_words(std::span<const settings::Option> options) {
  std::string text;
  for (const settings::Option& option : options) {
    if (!option.heading.empty()) text += fmt::format("\n{}:\n", option.heading);
    if (option.refusal.empty()) text += row(spelling(option), help_and_fallback(option));
  }
  return text;
}

// A bar would end the table's cell.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

int tell_version(std::span<const std::string>) {
  return answer("safelaunch " SAFELAUNCH_VERSION "\n");
}

int tell_help(std::span<const std::string>) {
  return answer(general_help());
}

}  // namespace

std::string spelling(const settings::Option& option) {
  std::string text = fmt::format("--{}", option.name);
  if (option.letter != 0) text = fmt::format("-{},{}", option.letter, text);
  const std::string_view value = settings::placeholder(option);
  if (!value.empty()) text += fmt::format(" {}", value);
  if (option.kind == settings::OptionKind::texts || option.kind == settings::OptionKind::list)
    text += " ...";
  return text;
}

std::string help_of(const Verb& verb) {
  if (&verb == &kRunVerb) return general_help();
  return fmt::format("Usage: safelaunch {}{}{}\n\n{}\n\nOptions:\n{}{}", verb.name,
                     verb.usage.empty() ? "" : " ", verb.usage, wrapped(verb.purpose, 0),
                     options_in_words(verb.options), row("-h,--help", "this"));
}

std::string general_help() {
  std::string text =
      "Usage: safelaunch [OPTIONS] [--] COMMAND [ARG...]\n"
      "       safelaunch VERB ...\n\n"
      "Gets a distributed training command past its first all_reduce, or names the cause.\n\n"
      "Verbs:\n";
  for (const Verb* verb : verbs()) text += fmt::format("  {:<11} {}\n", verb->name, verb->help);
  return text +
         "\nOptions, each also in the environment (SAFELAUNCH_INIT_TIMEOUT=60s) or in "
         "safelaunch.yaml:\n" +
         options_in_words(kRunVerb.options);
}

std::string options_as_markdown() {
  std::string text = "| option | default | meaning |\n| --- | --- | --- |\n";
  for (const settings::Option& option : kRunVerb.options)
    if (option.refusal.empty())
      text += fmt::format("| `{}` | {} | {} |\n", cell(spelling(option)), cell(option.fallback),
                          cell(option.help));
  return text;
}

const Verb kVersionVerb{.name = "version", .function = tell_version, .help = "the version"};
const Verb kHelpVerb{.name = "help", .function = tell_help};

}  // namespace safelaunch::cli
