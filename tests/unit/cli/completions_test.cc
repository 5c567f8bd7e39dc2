#include "catch.h"
#include "launcher/cli/help.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

using ShellWords = std::vector<std::string>;

bool script_has(std::string_view shell, std::string_view part) {
  return completions(shell).find(part) != std::string::npos;
}

std::string refused_shell(const ShellWords& words) {
  const auto script = completions_for(words);
  if (script) return "accepted";
  CHECK(script.error().code == Errc::usage);
  return script.error().message;
}

}  // namespace

TEST_CASE("each shell has its script, and says how it is made", "[completions]") {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    CHECK(completions_for(ShellWords{shell}).value() == completions(shell));
    CHECK(script_has(shell, shell + " completion for safelaunch; `safelaunch completion " + shell +
                                "` makes it."));
  }
}

TEST_CASE("one shell is asked for, and one that is known", "[completions]") {
  const std::string one = "completion takes one shell: bash, zsh or fish";
  CHECK(refused_shell({}) == one);
  CHECK(refused_shell({"bash", "zsh"}) == one);
  CHECK(refused_shell({"bahs"}) ==
        "completion does not know the shell 'bahs'; did you mean 'bash'? (bash, zsh, fish)");
  CHECK(refused_shell({"tcsh"}) == "completion does not know the shell 'tcsh' (bash, zsh, fish)");
  CHECK(refused_shell({"powershell"}) ==
        "completion does not know the shell 'powershell' (bash, zsh, fish)");
  CHECK(refused_shell({""}) == "completion does not know the shell '' (bash, zsh, fish)");
}

TEST_CASE("no mark of the script's form is left in it", "[completions]") {
  for (const char* mark : {"@options@", "@values@", "@first@", "@verbs@", "@commands@",
                           "@profiles@", "@described@", "@cases@", "@run@"})
    for (const char* shell : {"bash", "zsh", "fish"}) CHECK_FALSE(script_has(shell, mark));
}

TEST_CASE("bash completes a choice's words behind each spelling of its option", "[completions]") {
  CHECK(script_has("bash", "    'run --clean') echo 'off ours' ;;\n"));
  CHECK(script_has("bash", "    'clean --policy') echo 'off ours orphans' ;;\n"));
  CHECK(script_has("bash", "    'run --port') echo 'keep auto' ;;\n"));
  CHECK(script_has("bash",
                   "    'run --profile'|'run -p') safelaunch profiles names 2>/dev/null ;;\n"));
  CHECK(script_has("bash", "    'run --log-dir') echo '' ;;\n"));
}

TEST_CASE("a flag takes no value in any shell", "[completions]") {
  CHECK_FALSE(script_has("bash", "'run --only')"));
  CHECK_FALSE(script_has("zsh", "--only="));
  CHECK_FALSE(script_has("fish", "-l only -x"));
}

TEST_CASE("bash offers every option of a verb, with its letter and help", "[completions]") {
  CHECK(script_has("bash",
                   "    init) echo '--yes -y --force --user --color --no-color --help' ;;\n"));
  CHECK(script_has("bash", "    version) echo '--color --no-color --help' ;;\n"));
}

TEST_CASE("bash offers the words that may stand first behind a verb", "[completions]") {
  CHECK(script_has("bash", "    profiles) echo 'list names show check env schema' ;;\n"));
  CHECK(script_has("bash", "    completion) echo 'bash zsh fish' ;;\n"));
}

TEST_CASE("behind a verb that takes a command its own completion goes on", "[completions]") {
  CHECK(script_has("bash", "' run test probe doctor '"));
  CHECK(script_has("zsh", "'*:: :_normal'"));
}

TEST_CASE("zsh and fish quote the words of help", "[completions]") {
  for (const Verb* verb : verbs()) {
    for (const settings::Option& option : verb->options) {
      if (option.help.find('\'') == std::string_view::npos) continue;
      const std::string before(option.help.substr(0, option.help.find('\'')));
      INFO(option.name);
      CHECK_FALSE(script_has("zsh", before + "' "));
      CHECK(script_has("zsh", before + "'\\''"));
      CHECK(script_has("fish", before + "\\'"));
    }
  }
  CHECK(script_has("fish", "-l profile -s p -x -a '(safelaunch profiles names 2>/dev/null)'"));
}

TEST_CASE("an option that repeats is offered again in zsh", "[completions]") {
  CHECK(script_has("zsh", "'*--profile=["));
  CHECK(script_has("zsh", "'*--set=["));
  CHECK(script_has("zsh", "'--port=["));
  CHECK(script_has("zsh", "'*-p["));
}

TEST_CASE("an option that names a file completes files", "[completions]") {
  CHECK(script_has("zsh", ":log-dir:_files'"));
  CHECK(script_has("zsh", ":config:_files'"));
  CHECK(script_has("fish", "-l config -r -F "));
  CHECK(script_has("fish", "-l html -r -F "));
}

TEST_CASE("every verb is described to zsh and fish", "[completions]") {
  for (const Verb* verb : verbs()) {
    INFO(verb->name);
    CHECK(script_has("zsh", "    '" + std::string(verb->name) + ":"));
    CHECK(script_has("fish", "-n __fish_use_subcommand -a " + std::string(verb->name) + " -d '"));
  }
}

TEST_CASE("every shell completes the ids of runs for the verbs that take one", "[completions]") {
  const std::string ids = "safelaunch runs --ids 2>/dev/null";
  CHECK(script_has("bash", "    status|stacks|stop|logs|report) " + ids + " ;;\n"));
  CHECK(script_has("zsh", "'*: :_safelaunch_runs'"));
  for (const char* verb : {"status", "stacks", "stop", "logs", "report"})
    CHECK(script_has("fish", std::string("-n '__safelaunch_at ") + verb + "' -f -a '(" + ids));
}

TEST_CASE("options are not offered behind the word of a launcher", "[completions]") {
  CHECK(script_has("zsh", "_arguments -S -A '-*' \\"));
  CHECK(script_has("fish", "complete -c safelaunch -n '__safelaunch_at run' -l init-timeout "));
}
