#include "help.h"

#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/version.h"
#include "safelaunch/settings/settings.h"
#include "verbs.h"

// The page is made of the same tables as the help; exit statuses, files and the variables that are
// no options stand only here. All text goes through plain(), since troff reads signs of its own.
namespace safelaunch::cli {
namespace {

constexpr std::array kStatuses{
    StatusRow{"the command's own",
              "it ran to an end: the code of the first rank that failed (128+N for a signal), 0 "
              "only if all were 0"},
    StatusRow{"128+N",
              "INT, TERM, HUP or QUIT ended it (130 after Ctrl-C, also after two): the first "
              "signal counts, unless a rank chose a status of its own"},
    StatusRow{"124", "the job hung, or could never start, and no profile helped or could help"},
    StatusRow{"125", "safelaunch itself failed"},
    StatusRow{"126, 127", "the command cannot be executed, is not found"},
    StatusRow{"64", "wrong usage"},
    StatusRow{"69", "a peer or the rendezvous is lost"},
    StatusRow{
        "74",
        "what was to be shown cannot be written (a full disk): a verb's answer, or the output "
        "of a job that went well"},
    StatusRow{"75",
              "stopped by a finding: somebody else holds the port, or the host cannot run the job"},
    StatusRow{"78", "a bad profile or configuration file"},
};

// These variables stand in no table of options.
constexpr std::array kVariables{
    StatusRow{"SAFELAUNCH=off",
              "safelaunch becomes the command of a run, and does nothing else; 0, false and no say "
              "the same"},
    StatusRow{"SAFELAUNCH_KEEP=1",
              "in the environment of a process that a job starts: the process goes on when the job "
              "ends"},
    StatusRow{
        "SAFELAUNCH_LANG=en|zh",
        "the language of what safelaunch says; without it that of LC_ALL, LC_MESSAGES or LANG"},
    StatusRow{"SAFELAUNCH_PROFILE_PATH", "folders with profiles, with colons between them"},
};

constexpr std::array kFiles{
    StatusRow{"./safelaunch.yaml, ~/.config/safelaunch/safelaunch.yaml, "
              "/etc/safelaunch/safelaunch.yaml",
              "options, variables and rules for clusters; each key of a file stands over the same "
              "key of the files behind it"},
    StatusRow{"./profiles, ~/.config/safelaunch/profiles, /etc/safelaunch/profiles",
              "profiles; those that are built in need no file"},
    StatusRow{"~/.config/safelaunch/causes.yaml", "causes of your own"},
    StatusRow{"~/.local/state/safelaunch/runs", "the records of runs"},
};

// Text that troff takes as it stands.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '\'')
      result += "\\(aq";
    else if (c == '`')
      result += "\\(ga";
    else if (c == '~')
      result += "\\(ti";
    else
      result += c;
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string item(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", plain(term), plain(text));
}

std::string items(std::span<const StatusRow> rows) {
  std::string text;
  for (const StatusRow& row : rows) text += item(row.status, row.meaning);
  return text;
}

std::string section(std::string_view title, std::string_view text) {
  return fmt::format(".SH {}\n{}", title, text);
}

std::string option_items(const Verb& verb) {
  std::string text;
  for (const settings::Option* option : options_of(verb)) {
    if (!option->heading.empty()) text += fmt::format(".SS {}\n", option->heading);
    const std::string fallback =
        option->fallback.empty() ? "" : fmt::format(" [{}]", option->fallback);
    text += item(spelling(*option), std::string(option->help) + fallback);
  }
  return text;
}

std::string verbs_in_full() {
  std::string text;
  for (const Verb* verb : verbs()) {
    text += fmt::format(".SS {} {}\n{}\n", plain(verb->name), plain(verb->usage),
                        plain(verb->purpose.empty() ? verb->help : verb->purpose));
    if (verb != &kRunVerb) text += option_items(*verb);
    text += fmt::format(".PP\nExample:\n.EX\n{}\n.EE\n", plain(verb->example));
  }
  return text;
}

std::string environment() {
  std::string text = plain("Each option may also be set by a variable, such as ");
  text += plain(settings::environment_name("init-timeout") + "=60s for --init-timeout 60s");
  return text + plain(", and by its name in safelaunch.yaml (init-timeout: 60s); except ") +
         plain(
             "--set, --unset and --module. The command line stands over the environment, and that "
             "over the "
             "file.") +
         "\n" + items(kVariables);
}

int write_manual(NoOptions /*given*/, const std::vector<std::string>& /*rest*/) {
  return answer(manual_page());
}

}  // namespace

std::string manual_page() {
  return fmt::format(".TH SAFELAUNCH 1 \"\" \"safelaunch {}\" \"User Commands\"\n", version()) +
         section("NAME", plain("safelaunch - gets a distributed training command past its first "
                               "all_reduce, or names the cause") +
                             "\n") +
         section("SYNOPSIS",
                 ".B safelaunch\n[OPTIONS] [\\-\\-] COMMAND [ARG...]\n.br\n.B safelaunch\n"
                 "VERB ...\n") +
         section("DESCRIPTION",
                 plain("Put before a command that starts a distributed training, safelaunch "
                       "watches it until its first collective. A job that hangs is stopped whole, "
                       "the rank that kept it waiting and the cause are named, and where another "
                       "profile may help, it is started again with that. A healthy job runs as if "
                       "safelaunch were not there.") +
                     "\n") +
         section("OPTIONS", option_items(kRunVerb)) + section("VERBS", verbs_in_full()) +
         section("ENVIRONMENT", environment()) + section("FILES", items(kFiles)) +
         section("EXIT STATUS", items(kStatuses)) + section("SEE ALSO", ".BR torchrun (1)\n");
}

std::span<const StatusRow> exit_statuses() {
  return kStatuses;
}

const Verb kManualVerb{.name = "manual",
                       .function = reads<NoOptions, write_manual>,
                       .help = "the man page: safelaunch manual | man -l -",
                       .purpose = "The man page as troff: `safelaunch manual | man -l -`.",
                       .example = "safelaunch manual | man -l -"};

}  // namespace safelaunch::cli
