#include "help.h"

#include <initializer_list>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "verbs.h"

// Each script is made of the same tables as the help. Names of profiles are asked for when they are
// needed, since a user's own count too; the shell itself completes values that are files.
namespace safelaunch::cli {
namespace {

constexpr std::string_view kProfileNames = "safelaunch profiles names 2>/dev/null";
constexpr std::string_view kRunIds = "safelaunch runs --ids 2>/dev/null";

using Words = std::vector<std::string>;

bool takes_run(const Verb& verb) {
  return verb.takes.starts_with("run");
}

Words names_where(bool (*holds)(const Verb&)) {
  Words names;
  for (const Verb* verb : verbs())
    if (holds(*verb)) names.emplace_back(verb->name);
  return names;
}

bool takes_command(const Verb& verb) {
  return verb.rest == settings::Rest::command;
}

bool takes_value(const settings::Option& option) {
  return option.kind != settings::OptionKind::flag;
}

bool takes_profile(const settings::Option& option) {
  return option.name == "profile";
}

bool takes_file(const settings::Option& option) {
  return option.value == "FILE" || option.value == "DIR";
}

Words known_values(const settings::Option& option) {
  const bool is_port = option.kind == settings::OptionKind::port;
  const auto words = settings::words_of(is_port ? settings::kPortWords : option.choices);
  return {words.begin(), words.end()};
}

Words spellings(const settings::Option& option) {
  Words words{fmt::format("--{}", option.name)};
  if (option.letter != 0) words.push_back(fmt::format("-{}", option.letter));
  return words;
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what)) {
    result.append(text.substr(0, at)).append(by);
    text.remove_prefix(at + what.size());
  }
  return result.append(text);
}

std::string filled(std::string_view script,
                   std::initializer_list<std::pair<std::string_view, std::string>> parts) {
  std::string text(script);
  for (const auto& [mark, part] : parts) text = replaced(text, mark, part);
  return text;
}

// "run --port", "run -p": the patterns of bash's `case`.
std::string patterns(const Verb& verb, const settings::Option& option) {
  Words words;
  for (const std::string& spelling : spellings(option))
    words.push_back(fmt::format("'{} {}'", verb.name, spelling));
  return join(words, "|");
}

std::string bash_options() {
  std::string text;
  for (const Verb* verb : verbs()) {
    Words words;
    for (const settings::Option* option : options_of(*verb))
      for (std::string& spelling : spellings(*option)) words.push_back(std::move(spelling));
    words.emplace_back("--help");
    text += fmt::format("    {}) echo '{}' ;;\n", verb->name, join(words, " "));
  }
  return text;
}

std::string bash_values() {
  std::string text;
  for (const Verb* verb : verbs())
    for (const settings::Option* option : options_of(*verb)) {
      if (takes_profile(*option))
        text += fmt::format("    {}) {} ;;\n", patterns(*verb, *option), kProfileNames);
      else if (takes_value(*option))
        text += fmt::format("    {}) echo '{}' ;;\n", patterns(*verb, *option),
                            join(known_values(*option), " "));
    }
  return text;
}

std::string bash_first_words() {
  std::string text;
  for (const Verb* verb : verbs())
    if (!verb->words.empty())
      text += fmt::format("    {}) echo '{}' ;;\n", verb->name, replaced(verb->words, "|", " "));
  text += fmt::format("    {}) {} ;;\n", join(names_where(takes_run), "|"), kRunIds);
  return text;
}

constexpr std::string_view kBashScript =
    R"sh(# bash completion for safelaunch; `safelaunch completion bash` makes it.
_safelaunch_options() {
  case $1 in
@options@  esac
}

# What may stand behind an option; fails where the option takes no value.
_safelaunch_values() {
  case "$1 $2" in
@values@    *) return 1 ;;
  esac
}

_safelaunch_first_words() {
  case $1 in
@first@  esac
}

_safelaunch() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $word == = ]]; then before=${COMP_WORDS[COMP_CWORD-1]} word=; fi
  local verb=run at=1 verbs='@verbs@'
  if ((COMP_CWORD > 1)) && [[ " $verbs " == *" ${COMP_WORDS[1]} "* ]]; then
    verb=${COMP_WORDS[1]} at=2
  fi
  local first=$at
  if [[ ' @commands@ ' == *" $verb "* ]]; then
    while ((at < COMP_CWORD)); do
      case ${COMP_WORDS[at]} in
        --) ((at++)); break ;;
        -*) if [[ ${COMP_WORDS[at+1]} == = ]]; then ((at += 3))
            elif _safelaunch_values "$verb" "${COMP_WORDS[at]}" >/dev/null; then ((at += 2))
            else ((at++)); fi ;;
        *) break ;;
      esac
    done
    # The command has begun: its own completion goes on.
    if ((at < COMP_CWORD)) || [[ ${COMP_WORDS[at-1]} == -- ]]; then
      if declare -F _command_offset >/dev/null; then _command_offset "$at"
      elif ((at == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$word")); fi
      return
    fi
  fi
  local values
  if values=$(_safelaunch_values "$verb" "$before"); then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_safelaunch_options "$verb")" -- "$word"))
  elif ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$verbs" -- "$word") $(compgen -c -- "$word"))
  elif ((COMP_CWORD == at)) && [[ ' @commands@ ' == *" $verb "* ]]; then
    COMPREPLY=($(compgen -c -- "$word"))
  elif ((COMP_CWORD == first)) || [[ ' @runs@ ' == *" $verb "* ]]; then
    COMPREPLY=($(compgen -W "$(_safelaunch_first_words "$verb")" -- "$word"))
  elif [[ $verb == profiles ]]; then
    COMPREPLY=($(compgen -W "$(@profiles@)" -- "$word"))
  fi
}
complete -o default -F _safelaunch safelaunch
)sh";

std::string bash() {
  Words names;
  for (const Verb* verb : verbs()) names.emplace_back(verb->name);
  return filled(kBashScript, {{"@options@", bash_options()},
                              {"@values@", bash_values()},
                              {"@first@", bash_first_words()},
                              {"@verbs@", join(names, " ")},
                              {"@commands@", join(names_where(takes_command), " ")},
                              {"@runs@", join(names_where(takes_run), " ")},
                              {"@profiles@", std::string(kProfileNames)}});
}

std::string in_quotes(std::string_view text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

// How `_arguments` completes a value.
std::string zsh_value(const settings::Option& option) {
  if (!takes_value(option)) return {};
  if (takes_profile(option)) return fmt::format(":{}:_safelaunch_profiles", option.name);
  if (takes_file(option)) return fmt::format(":{}:_files", option.name);
  return fmt::format(":{}:({})", option.name, join(known_values(option), " "));
}

std::string zsh_specs(const Verb& verb) {
  std::string text;
  for (const settings::Option* option : options_of(verb)) {
    const bool repeats =
        option->kind == settings::OptionKind::list || option->kind == settings::OptionKind::texts;
    const std::string_view end = takes_value(*option) ? "=" : "";
    for (const std::string& spelling : spellings(*option)) {
      const bool is_long = spelling.starts_with("--");
      text += "      " +
              in_quotes(fmt::format(
                  "{}{}{}[{}]{}", repeats ? "*" : "", spelling, is_long ? end : "",
                  replaced(replaced(option->help, "[", "\\["), "]", "\\]"), zsh_value(*option))) +
              " \\\n";
    }
  }
  text += "      '--help[this]' \\\n";
  if (verb.rest == settings::Rest::command) return text + "      '*:: :_normal'\n";
  const std::string words = replaced(verb.words, "|", " ");
  text += words.empty() ? "" : fmt::format("      '1: :({})' \\\n", words);
  if (takes_run(verb)) return text + "      '*: :_safelaunch_runs'\n";
  return text +
         (&verb == &kProfilesVerb ? "      '2: :_safelaunch_profiles'\n" : "      '*: :_files'\n");
}

constexpr std::string_view kZshScript =
    R"sh(#compdef safelaunch
# zsh completion for safelaunch; `safelaunch completion zsh` makes it.
_safelaunch_profiles() {
  local -a names=(${(f)"$(@profiles@)"})
  _values -s , profile $names
}

_safelaunch_runs() {
  local -a ids=(${(f)"$(@ids@)"})
  _describe -o nosort run ids
}

_safelaunch() {
  local -a verbs=(
@described@  )
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    _describe verb verbs
    _command_names -e
    return
  fi
  if [[ $words[2] == run ]]; then shift words; ((CURRENT--)); fi
  case $words[2] in
@cases@    *) _arguments -S -A '-*' \
@run@      ;;
  esac
}
compdef _safelaunch safelaunch
)sh";

std::string zsh() {
  std::string described;
  std::string cases;
  for (const Verb* verb : verbs()) {
    const std::string help = replaced(verb->help, ":", "\\:");
    described += "    " + in_quotes(fmt::format("{}:{}", verb->name, help)) + "\n";
    if (verb == &kRunVerb) continue;
    cases += fmt::format("    {}) shift words; ((CURRENT--)); _arguments -S {}\\\n{}      ;;\n",
                         verb->name, takes_command(*verb) ? "-A '-*' " : "", zsh_specs(*verb));
  }
  return filled(kZshScript, {{"@profiles@", std::string(kProfileNames)},
                             {"@ids@", std::string(kRunIds)},
                             {"@described@", described},
                             {"@cases@", cases},
                             {"@run@", zsh_specs(kRunVerb)}});
}

std::string fish_quoted(std::string_view text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_values(const settings::Option& option) {
  if (!takes_value(option)) return {};
  if (takes_file(option)) return " -r -F";
  if (takes_profile(option)) return fmt::format(" -x -a '({})'", kProfileNames);
  return fmt::format(" -x -a {}", fish_quoted(join(known_values(option), " ")));
}

std::string fish_options(const Verb& verb, std::string_view when) {
  std::string text;
  for (const settings::Option* option : options_of(verb))
    text += fmt::format("complete -c safelaunch -n '{}' -l {}{}{} -d {}\n", when, option->name,
                        option->letter == 0 ? "" : fmt::format(" -s {}", option->letter),
                        fish_values(*option), fish_quoted(option->help));
  if (!verb.words.empty())
    text += fmt::format("complete -c safelaunch -n '{}' -f -a {}\n", when,
                        fish_quoted(replaced(verb.words, "|", " ")));
  return text;
}

// Options of a command are its own, so those of a verb end where its command begins.
constexpr std::string_view kFishScript =
    R"sh(# fish completion for safelaunch; `safelaunch completion fish` makes it.
function __safelaunch_at
  set -l words (commandline -opc)[2..]
  set -l verb run
  if contains -- "$words[1]" @verbs@
    set verb $words[1]
    set -e words[1]
  end
  test $verb = $argv[1]; or return 1
  contains $verb @commands@; or return 0
  while set -q words[1]
    switch $words[1]
      case --
        return 1
      case '--*=*'
      case @taking@
        set -q words[2]; and set -e words[1]
      case '-*'
      case '*'
        return 1
    end
    set -e words[1]
  end
end

)sh";

std::string options_with_values() {
  Words words;
  for (const Verb* verb : verbs()) {
    if (!takes_command(*verb)) continue;
    for (const settings::Option* option : options_of(*verb))
      if (takes_value(*option))
        for (std::string& spelling : spellings(*option)) words.push_back(std::move(spelling));
  }
  return join(words, " ");
}

std::string fish() {
  std::string text =
      filled(kFishScript, {{"@verbs@", join(names_where([](const Verb&) { return true; }), " ")},
                           {"@commands@", join(names_where(takes_command), " ")},
                           {"@taking@", options_with_values()}});
  for (const Verb* verb : verbs())
    text += fmt::format("complete -c safelaunch -n __fish_use_subcommand -a {} -d {}\n", verb->name,
                        fish_quoted(verb->help));
  for (const Verb* verb : verbs()) {
    const std::string when = fmt::format("__safelaunch_at {}", verb->name);
    text += fish_options(*verb, when);
    if (takes_run(*verb))
      text += fmt::format("complete -c safelaunch -n '{}' -f -a '({})'\n", when, kRunIds);
  }
  return text + fmt::format("complete -c safelaunch -n '__safelaunch_at profiles' -a '({})'\n",
                            kProfileNames);
}

int write_completions(NoOptions /*given*/, const std::vector<std::string>& shells) {
  return tell(completions_for(shells));
}

}  // namespace

std::string completions(std::string_view shell) {
  if (shell == "bash") return bash();
  if (shell == "zsh") return zsh();
  return shell == "fish" ? fish() : std::string();
}

Result<std::string> completions_for(std::span<const std::string> words) {
  if (words.size() != 1) return Error{Errc::usage, "completion takes one shell: bash, zsh or fish"};
  std::string script = completions(words[0]);
  if (!script.empty()) return script;
  return Error{Errc::usage,
               fmt::format("completion does not know the shell '{}'{} (bash, zsh, "
                           "fish)",
                           words[0], did_you_mean(words[0], settings::words_of(kShells)))};
}

const Verb kCompletionVerb{
    .name = "completion",
    .function = reads<NoOptions, write_completions>,
    .help = "bash | zsh | fish: a script that completes verbs, options, profiles and runs",
    .usage = "bash | zsh | fish",
    .purpose =
        "Prints a script by which a shell completes verbs, options, their values, and the names of "
        "profiles and runs. For bash: `eval \"$(safelaunch completion bash)\"`.",
    .example = "eval \"$(safelaunch completion bash)\"",
    .words = kShells,
    .takes = kManyWords};

}  // namespace safelaunch::cli
