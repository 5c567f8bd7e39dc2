#include "launcher/cli/help.h"

#include <algorithm>
#include <sstream>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

constexpr std::size_t kWidth = 80;

std::vector<const Verb*> all_verbs() {
  std::vector<const Verb*> all(verbs().begin(), verbs().end());
  all.push_back(&kHelpVerb);
  return all;
}

}  // namespace

TEST_CASE("every help fits a terminal of 80 columns", "[help]") {
  for (const Verb* verb : all_verbs()) {
    std::istringstream lines(help_of(*verb));
    for (std::string line; std::getline(lines, line);) {
      INFO(verb->name << ": " << line);
      CHECK(line.size() <= kWidth);
    }
  }
}

TEST_CASE("the first help fits a screen, and names only verbs and options that there are",
          "[help]") {
  const std::string help = short_help();
  CHECK(std::ranges::count(help, '\n') <= 36);
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= kWidth);
  for (const char* verb : {"stacks", "status", "report", "logs", "stop", "explain", "doctor",
                           "test", "probe", "clean"}) {
    CHECK(is_verb(verb));
    CHECK(help.find(verb) != std::string::npos);
  }
  for (const char* option : {"--profile", "--only", "--init-timeout", "--stall-timeout",
                             "--nproc-per-node", "--set", "--dry-run"})
    CHECK(help.find(option) != std::string::npos);
}

TEST_CASE("every help ends with an example of its verb", "[help]") {
  for (const Verb* verb : all_verbs()) {
    INFO(verb->name);
    const std::string help = help_of(*verb);
    const std::size_t at = help.find("\nExample:\n");
    REQUIRE(at != std::string::npos);
    const bool names_it =
        verb == &kRunVerb || help.find("safelaunch " + std::string(verb->name), at) < help.size();
    CHECK(names_it);
  }
}

TEST_CASE("an option is spelled with its letter, its value and its dots", "[help]") {
  using settings::OptionKind;
  struct Row {
    settings::Option option;
    std::string_view spelled;
  };
  for (const Row& row :
       {Row{{.name = "only"}, "--only"}, Row{{.name = "yes", .letter = 'y'}, "-y,--yes"},
        Row{{.name = "json", .value = "FILE"}, "--json[=FILE]"},
        Row{{.name = "nnodes", .kind = OptionKind::count}, "--nnodes N"},
        Row{{.name = "grace", .kind = OptionKind::duration}, "--grace TIME"},
        Row{{.name = "port", .kind = OptionKind::port}, "--port keep|auto|N|A-B"},
        Row{{.name = "log-dir", .kind = OptionKind::text, .value = "DIR"}, "--log-dir DIR"},
        Row{{.name = "name", .kind = OptionKind::text}, "--name TEXT"},
        Row{{.name = "clean", .kind = OptionKind::choice, .choices = "off|ours"},
            "--clean off|ours"},
        Row{{.name = "set", .kind = OptionKind::texts, .value = "NAME=VALUE"},
            "--set NAME=VALUE ..."},
        Row{{.name = "profile", .letter = 'p', .kind = OptionKind::list, .value = "NAME|FILE"},
            "-p,--profile NAME|FILE ..."}})
    CHECK(spelling(row.option) == row.spelled);
}

TEST_CASE("the help of a verb is its usage, its purpose, its options and an example", "[help]") {
  const Verb verb{.name = "show",
                  .usage = "[RUN]",
                  .purpose = "Shows a run.",
                  .example = "safelaunch show\nsafelaunch show a1",
                  .options = kRunsVerb.options};
  CHECK(help_of(verb) ==
        "Usage: safelaunch show [RUN]\n"
        "\n"
        "Shows a run.\n"
        "\n"
        "Options:\n"
        "  -n,--newest N               the last N of them alone\n"
        "  --failed                    those alone that ended with another status than 0,\n"
        "                              or were cut off\n"
        "  --json                      as JSON\n"
        "  --ids                       the ids alone, for completions\n"
        "  --color WHEN                whether the answer is coloured [auto]\n"
        "  --no-color                  --color never\n"
        "  -h,--help                   this\n"
        "\n"
        "Example:\n"
        "  safelaunch show\n"
        "  safelaunch show a1\n");
}

TEST_CASE("the help of a verb without words and options is short", "[help]") {
  CHECK(help_of(kVersionVerb) ==
        "Usage: safelaunch version\n"
        "\n"
        "The version, as --version and -V.\n"
        "\n"
        "Options:\n"
        "  --color WHEN                whether the answer is coloured [auto]\n"
        "  --no-color                  --color never\n"
        "  -h,--help                   this\n"
        "\n"
        "Example:\n"
        "  safelaunch version\n");
}

TEST_CASE("a long option stands above its help, with what holds without it behind", "[help]") {
  static constexpr settings::Option kLong{.name = "a-name-that-is-quite-long",
                                          .kind = settings::OptionKind::duration,
                                          .fallback = "60s",
                                          .help = "how long",
                                          .heading = "Times"};
  const Verb verb{.name = "show", .example = "safelaunch show", .options = std::span(&kLong, 1)};
  CHECK_THAT(help_of(verb),
             Catch::Matchers::ContainsSubstring("\nTimes:\n"
                                                "  --a-name-that-is-quite-long TIME\n"
                                                "                              how long [60s]\n"));
}

TEST_CASE("help about a run is the general help", "[help]") {
  CHECK(help_about("run").value() == general_help());
  CHECK(help_of(kRunVerb) == general_help());
  CHECK(
      general_help().starts_with("Usage: safelaunch [OPTIONS] [--] COMMAND [ARG...]\n"
                                 "       safelaunch VERB ...\n"));
}

TEST_CASE("help tells of each verb by its name, and of itself", "[help]") {
  for (const Verb* verb : all_verbs()) CHECK(help_about(verb->name).value() == help_of(*verb));
  CHECK(help_about("--version").value() == help_of(kVersionVerb));
}

TEST_CASE("help about a verb that there is not names the nearest", "[help]") {
  const auto refused = [](std::string_view word) {
    const auto help = help_about(word);
    REQUIRE(help.has_error());
    CHECK(help.error().code == Errc::usage);
    return help.error().message;
  };
  CHECK(refused("statsu") == "there is no verb 'statsu'; did you mean the verb 'status'?");
  CHECK(refused("torchrun") == "there is no verb 'torchrun'; safelaunch help lists them");
  CHECK(refused("") == "there is no verb ''; safelaunch help lists them");
}

TEST_CASE("general help lists the headings of a run's options in their order", "[help]") {
  const std::string help = general_help();
  std::size_t at = 0;
  for (const char* heading :
       {"Profiles", "Deadlines", "The host", "Own workers", "The command", "Output and record"}) {
    INFO(heading);
    const std::size_t found = help.find("\n" + std::string(heading) + ":\n");
    REQUIRE(found != std::string::npos);
    CHECK(found > at);
    at = found;
  }
}
