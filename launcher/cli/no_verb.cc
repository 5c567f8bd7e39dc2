#include "no_verb.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A first word that is no verb may be a command, or a verb that people expect from other tools. The
// second is answered with the right words instead of being run.
namespace safelaunch::cli {
namespace {

struct ForeignVerb {
  std::string_view word;
  std::string_view instead;
};

constexpr std::string_view kToEnd = "Ctrl-C in a job's terminal ends it";
constexpr std::string_view kToSee = "safelaunch status --watch shows your running jobs";
constexpr std::string_view kToList = "safelaunch runs lists the runs";
constexpr std::string_view kToRead =
    "safelaunch report shows what a run did, and where its logs are";
constexpr std::string_view kToCheck = "safelaunch doctor checks this host";
constexpr std::string_view kToClean = "safelaunch clean removes what earlier runs left";
constexpr std::string_view kToStart = "safelaunch COMMAND starts a job";

// No word is here that people put before a training: time, nice, env, timeout, make, tini.
constexpr std::array kForeignVerbs{
    ForeignVerb{"attach", kToSee},    ForeignVerb{"cancel", kToEnd},
    ForeignVerb{"check", kToCheck},   ForeignVerb{"cleanup", kToClean},
    ForeignVerb{"clear", kToClean},   ForeignVerb{"diagnose", kToCheck},
    ForeignVerb{"end", kToEnd},       ForeignVerb{"history", kToList},
    ForeignVerb{"info", kToCheck},    ForeignVerb{"kill", kToEnd},
    ForeignVerb{"killall", kToEnd},   ForeignVerb{"launch", kToStart},
    ForeignVerb{"list", kToList},     ForeignVerb{"log", kToRead},
    ForeignVerb{"logs", kToRead},     ForeignVerb{"ls", kToList},
    ForeignVerb{"monitor", kToSee},   ForeignVerb{"pkill", kToEnd},
    ForeignVerb{"ps", kToSee},        ForeignVerb{"show", kToRead},
    ForeignVerb{"start", kToStart},   ForeignVerb{"stat", kToSee},
    ForeignVerb{"stop", kToEnd},      ForeignVerb{"tail", kToRead},
    ForeignVerb{"terminate", kToEnd}, ForeignVerb{"top", kToSee},
    ForeignVerb{"watch", kToSee},
};

constexpr std::array<std::string_view, 4> kFoldersOfTheSystem{"/bin", "/usr/bin", "/sbin",
                                                              "/usr/sbin"};

}  // namespace

std::optional<std::string_view> instead_of(std::string_view word) {
  const auto found = std::ranges::find(kForeignVerbs, word, &ForeignVerb::word);
  return found == kForeignVerbs.end() ? std::nullopt : std::optional(found->instead);
}

std::optional<std::string> no_verb(std::span<const std::string> words, std::string_view program) {
  const auto instead = words.empty() ? std::nullopt : instead_of(words.front());
  const std::size_t slash = program.rfind('/');
  if (!instead || slash == std::string_view::npos) return std::nullopt;
  if (std::ranges::find(kFoldersOfTheSystem, program.substr(0, slash)) == kFoldersOfTheSystem.end())
    return std::nullopt;
  return fmt::format("there is no verb '{}'; {}\nTo run {} all the same: safelaunch -- {}",
                     words.front(), *instead, program, join(words, " "));
}

}  // namespace safelaunch::cli
