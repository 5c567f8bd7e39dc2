#include "answer.h"
#include "completions.h"
#include "safelaunch/base/nearest.h"
#include "verbs.h"

namespace safelaunch::cli {
namespace {

int write_completions(std::span<const std::string> words) {
  std::vector<std::string> shells;
  if (const auto status = settle(kCompletionsVerb, words, nullptr, shells)) return *status;
  if (shells.size() != 1)
    return refuse({Errc::usage, "completions takes one shell: bash, zsh or fish"});
  const std::string script = completions(shells[0]);
  if (script.empty())
    return refuse({Errc::usage, "completions does not know the shell '" + shells[0] + "'" +
                                    did_you_mean(shells[0], settings::words_of(kShells)) +
                                    " (bash, zsh, fish)"});
  return answer(script);
}

}  // namespace

const Verb kCompletionsVerb{
    .name = "completions",
    .function = write_completions,
    .help = "bash | zsh | fish: a script that completes verbs, options and profiles",
    .usage = "bash | zsh | fish",
    .purpose =
        "A script for a shell, which then completes verbs, options, their values and the names of "
        "profiles. For bash: `eval \"$(safelaunch completions bash)\"`.",
    .words = kShells};

}  // namespace safelaunch::cli
