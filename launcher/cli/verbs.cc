#include "verbs.h"

#include <algorithm>
#include <array>
#include <vector>

#include "run_options.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/nearest.h"

namespace safelaunch::cli {
namespace {

constexpr std::array kVerbs{
    Verb{"run", verb_run, StartsJob::yes, "run COMMAND (also without the word run)"},
    Verb{"probe", verb_probe, StartsJob::no, "who can all_reduce here, and how fast"},
    Verb{"profiles", verb_profiles, StartsJob::no, "list | show NAME | check FILE | env NAME"},
    Verb{"status", verb_status, StartsJob::no,
         "[RUN]: your running jobs, and how far each rank has come"},
    Verb{"runs", verb_runs, StartsJob::no, "the recorded runs, and how each ended"},
    Verb{"report", verb_report, StartsJob::no,
         "[RUN] [--html FILE] [--bundle FILE]: what a run did"},
    Verb{"explain", verb_explain, StartsJob::no, "a CAUSE, a VARIABLE, or - for a log on stdin"},
    Verb{"doctor", verb_doctor, StartsJob::no,
         "what stands in the way of a run: [--fix] [COMMAND]"},
    Verb{"clean", verb_clean, StartsJob::no, "what earlier runs left: processes, segments, locks"},
    Verb{"version", verb_version, StartsJob::no, "the version"},
};

// Other spellings that everybody tries.
constexpr Verb kHelp{"help", verb_help, StartsJob::no, ""};
constexpr std::array kHelpWords{std::string_view("--help"), std::string_view("-h"),
                                std::string_view("help")};

const Verb* lookup(std::string_view word) {
  if (std::find(kHelpWords.begin(), kHelpWords.end(), word) != kHelpWords.end()) return &kHelp;
  if (word == "--version") return lookup("version");
  const auto found = std::find_if(kVerbs.begin(), kVerbs.end(),
                                  [&](const Verb& verb) { return verb.name == word; });
  return found == kVerbs.end() ? nullptr : &*found;
}

}  // namespace

bool is_verb(std::string_view word) {
  return lookup(word) != nullptr;
}

const Verb& find_verb(std::string_view word) {
  const Verb* found = lookup(word);
  return found != nullptr ? *found : kVerbs.front();
}

std::string did_you_mean_verb(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  const std::string_view near = nearest(word, names);
  return near.empty() ? "" : fmt::format("; did you mean the verb '{}'?", near);
}

std::string general_help() {
  std::string text =
      "Usage: safelaunch [OPTIONS] [--] COMMAND [ARG...]\n"
      "       safelaunch VERB ...\n\n"
      "Gets a distributed training command past its first all_reduce, or names the cause.\n\n"
      "Verbs:\n";
  for (const Verb& verb : kVerbs) text += fmt::format("  {:<10} {}\n", verb.name, verb.help);
  return text + "\n" + run_help();
}

}  // namespace safelaunch::cli
