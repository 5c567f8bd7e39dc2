#include <set>

#include "catch.h"
#include "launcher/cli/help.h"
#include "launcher/cli/probe_plan.h"
#include "launcher/cli/verbs.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

using VerbWords = std::vector<std::string>;

// The reading of words whose options are never put anywhere.
Result<settings::ReadWords> read_without_target(const Verb& verb, const VerbWords& words) {
  return read_words_of(verb, words, nullptr);
}

std::string refusal_of_words(const Verb& verb, const VerbWords& words) {
  const auto read = read_without_target(verb, words);
  if (read) return "accepted";
  CHECK(read.error().code == Errc::usage);
  return read.error().message;
}

}  // namespace

TEST_CASE("a word of a verb's name is that verb, and its other spellings are", "[verbs]") {
  for (const Verb* verb : verbs()) {
    INFO(verb->name);
    CHECK(&find_verb(verb->name) == verb);
    CHECK(is_verb(verb->name));
  }
  for (const char* word : {"help", "-h"}) CHECK(&find_verb(word) == &kHelpVerb);
  CHECK(&find_verb("--help") == &kWholeHelpVerb);
  for (const char* word : {"help", "--help", "-h"}) CHECK(is_verb(word));
  CHECK(&find_verb("--version") == &kVersionVerb);
  CHECK(&find_verb("completions") == &kCompletionVerb);
}

TEST_CASE("any other first word is an option or the command", "[verbs]") {
  for (const char* word : {"torchrun", "train.py", "", "--", "--init-timeout", "-v", "Run", "runs ",
                           "./report", "--run", "man"}) {
    INFO(word);
    CHECK(&find_verb(word) == &kNoVerb);
    CHECK_FALSE(is_verb(word));
  }
}

TEST_CASE("the verbs that start a job keep a guardian, and no others do", "[verbs]") {
  std::set<std::string_view> starting;
  for (const Verb* verb : verbs())
    if (verb->starts_job == StartsJob::yes) starting.insert(verb->name);
  CHECK(starting == std::set<std::string_view>{"run"});
  CHECK(kNoVerb.starts_job == StartsJob::yes);
  CHECK(kHelpVerb.starts_job == StartsJob::no);
}

TEST_CASE("every verb has a line for the list of verbs, and a function", "[verbs]") {
  for (const Verb* verb : verbs()) {
    INFO(verb->name);
    CHECK_FALSE(verb->help.empty());
    CHECK_FALSE(verb->purpose.empty());
    CHECK(verb->function != nullptr);
  }
}

TEST_CASE("a misspelt verb is told with the nearest", "[verbs]") {
  CHECK(did_you_mean_verb("reprot") == "; did you mean the verb 'report'?");
  CHECK(did_you_mean_verb("statsu") == "; did you mean the verb 'status'?");
  CHECK(did_you_mean_verb("doktor") == "; did you mean the verb 'doctor'?");
  for (const char* word : {"", "torchrun", "python", "deepspeed", "train.py"}) {
    INFO(word);
    CHECK(did_you_mean_verb(word).empty());
  }
}

TEST_CASE("a verb that takes no word names the first", "[verbs]") {
  for (const Verb* verb : {&kInitVerb, &kRunsVerb, &kCleanVerb, &kManualVerb, &kVersionVerb}) {
    const std::string name(verb->name);
    CHECK(refusal_of_words(*verb, {"mine", "more"}) == name + " takes no 'mine'");
    CHECK(refusal_of_words(*verb, {"--", "--json"}) == name + " takes no '--json'");
    CHECK(refusal_of_words(*verb, {""}) == name + " takes no ''");
    CHECK(refusal_of_words(*verb, {}) == "accepted");
  }
}

TEST_CASE("a verb that takes one word names the second", "[verbs]") {
  struct Row {
    const Verb* verb;
    std::string_view refusal;
  };
  for (const Row& row : {Row{&kStatusVerb, "status takes one run, not also 'two'"},
                         Row{&kReportVerb, "report takes one run, not also 'two'"},
                         Row{&kStacksVerb, "stacks takes one run or pid, not also 'two'"},
                         Row{&kHelpVerb, "help takes one verb, not also 'two'"}}) {
    CHECK(refusal_of_words(*row.verb, {"one", "two", "three"}) == row.refusal);
    CHECK(read_without_target(*row.verb, {"one"}).value().rest == VerbWords{"one"});
    CHECK(read_without_target(*row.verb, {}).value().rest.empty());
  }
}

TEST_CASE("a command behind a verb may have any number of words", "[verbs]") {
  const VerbWords words{"torchrun", "--nproc_per_node=4", "train.py", "--json"};
  for (const Verb* verb : {&kRunVerb, &kDoctorVerb, &kTestVerb, &kProbeVerb})
    CHECK(read_without_target(*verb, words).value().rest == words);
}

TEST_CASE("words that a verb reads by itself are not counted", "[verbs]") {
  for (const Verb* verb : {&kExplainVerb, &kProfilesVerb, &kCompletionVerb})
    CHECK(read_without_target(*verb, {"a", "b", "c"}).value().rest == VerbWords{"a", "b", "c"});
}

TEST_CASE("help is answered whatever stands behind it", "[verbs]") {
  for (const Verb* verb : verbs())
    for (const char* word : {"--help", "-h"}) {
      INFO(verb->name << ' ' << word);
      CHECK(read_without_target(*verb, {word, "a", "b", "--nonsense"}).value().wants_help);
    }
}

TEST_CASE("a wrong option of a verb is told with the way to its help", "[verbs]") {
  CHECK(refusal_of_words(kCleanVerb, {"--dryrun"}) ==
        "clean does not take '--dryrun'; did you mean '--dry-run'? (safelaunch clean --help lists "
        "the options)");
  CHECK(refusal_of_words(kRunsVerb, {"--all"}) ==
        "runs does not take '--all' (safelaunch runs --help lists the options)");
  CHECK(refusal_of_words(kHelpVerb, {"-x"}) ==
        "help does not take '-x' (safelaunch help --help lists the options)");
  CHECK(refusal_of_words(kRunVerb, {"--rank", "0", "true"}) ==
        "unknown option --rank; did you mean '--ranks'? (safelaunch --help lists the options)");
  CHECK(refusal_of_words(kRunVerb, {"--on-stall=kill", "true"}) ==
        "unknown option --on-stall=kill; 'on_stall' is a key of a profile (safelaunch profiles "
        "schema) (safelaunch --help lists the options)");
}

TEST_CASE("an option of every verb without its value says what is missing", "[verbs]") {
  for (const Verb* verb : verbs())
    for (const settings::Option& option : verb->options) {
      if (option.kind == settings::OptionKind::flag) continue;
      const std::string name = "--" + std::string(option.name);
      INFO(verb->name << ' ' << name);
      CHECK(refusal_of_words(*verb, {name})
                .starts_with(name + " needs a value: " +
                             std::string(settings::placeholder(option)) + " (safelaunch "));
    }
}

TEST_CASE("an empty value is refused by every option of every verb", "[verbs]") {
  for (const Verb* verb : verbs())
    for (const settings::Option& option : verb->options) {
      const std::string name = "--" + std::string(option.name);
      INFO(verb->name << ' ' << name);
      CHECK(refusal_of_words(*verb, {name + "="}).starts_with(name + ": '' is no"));
    }
}

TEST_CASE("a program of any of the system's folders is no verb", "[no_verb]") {
  const VerbWords words{"ps"};
  for (const char* program : {"/bin/ps", "/usr/bin/ps", "/sbin/ps", "/usr/sbin/ps"})
    CHECK(no_verb(words, program));
  for (const char* program :
       {"/usr/local/bin/ps", "/opt/bin/ps", "/usr/bin/extra/ps", "ps", "", "/ps"})
    CHECK_FALSE(no_verb(words, program));
  CHECK_FALSE(no_verb({}, "/usr/bin/ps"));
}

TEST_CASE("each verb of other tools is answered with what safelaunch has for it", "[no_verb]") {
  struct Row {
    std::string_view verb;
    std::vector<std::string_view> words;
  };
  for (const Row& row : {Row{"status", {"attach", "monitor", "ps", "stat", "top", "watch"}},
                         Row{"runs", {"history", "list", "ls"}}, Row{"logs", {"log", "tail"}},
                         Row{"report", {"show"}}, Row{"doctor", {"check", "diagnose", "info"}},
                         Row{"clean", {"cleanup", "clear"}}})
    for (const std::string_view word : row.words) {
      INFO(word);
      CHECK(instead_of(word).value().starts_with("safelaunch " + std::string(row.verb) + " "));
    }
  for (const char* word : {"cancel", "end", "kill", "killall", "pkill", "terminate"})
    CHECK(instead_of(word) == "safelaunch stop RUN ends a job in order, as TERM does");
  for (const char* word : {"launch", "start"})
    CHECK(instead_of(word) == "safelaunch COMMAND starts a job");
  for (const char* word : {"", "torchrun", "Watch", "kil"}) CHECK_FALSE(instead_of(word));
}
