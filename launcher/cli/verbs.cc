#include "verbs.h"

#include <algorithm>
#include <array>
#include <vector>

#include "answer.h"
#include "help.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::cli {
namespace {

constexpr std::array kVerbs{&kRunVerb,         &kInitVerb,    &kTestVerb,   &kProbeVerb,
                            &kProfilesVerb,    &kStatusVerb,  &kStacksVerb, &kRunsVerb,
                            &kReportVerb,      &kExplainVerb, &kDoctorVerb, &kCleanVerb,
                            &kCompletionsVerb, &kManualVerb,  &kVersionVerb};

// Other spellings that everybody tries.
constexpr std::array kHelpWords{std::string_view("--help"), std::string_view("-h"),
                                std::string_view("help")};

const Verb* lookup(std::string_view word) {
  if (std::ranges::find(kHelpWords, word) != kHelpWords.end()) return &kHelpVerb;
  if (word == "--version") return &kVersionVerb;
  const auto found = std::ranges::find(kVerbs, word, &Verb::name);
  return found == kVerbs.end() ? nullptr : *found;
}

}  // namespace

std::span<const Verb* const> verbs() {
  return kVerbs;
}

bool is_verb(std::string_view word) {
  return lookup(word) != nullptr;
}

const Verb& find_verb(std::string_view word) {
  const Verb* found = lookup(word);
  return found != nullptr ? *found : kNoVerb;
}

std::string did_you_mean_verb(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Verb* verb : kVerbs) names.push_back(verb->name);
  const std::string_view near = nearest(word, names);
  return near.empty() ? "" : fmt::format("; did you mean the verb '{}'?", near);
}

Result<settings::ReadWords> read_words_of(const Verb& verb, std::span<const std::string> words,
                                          void* target) {
  Result<settings::ReadWords> read =
      settings::read_words({verb.name, verb.options, verb.rest, verb.again}, words, target);
  if (read) return read;
  const std::string_view own = &verb == &kRunVerb ? "" : verb.name;
  return Error{read.error().code, fmt::format("{} (safelaunch {}{}--help lists the options)",
                                              read.error().message, own, own.empty() ? "" : " ")};
}

std::optional<int> settle(const Verb& verb, std::span<const std::string> words, void* target,
                          std::vector<std::string>& rest) {
  Result<settings::ReadWords> read = read_words_of(verb, words, target);
  if (!read) return refuse(read.error());
  if (read->wants_help) return answer(help_of(verb));
  rest = std::move(read->rest);
  return std::nullopt;
}

}  // namespace safelaunch::cli
