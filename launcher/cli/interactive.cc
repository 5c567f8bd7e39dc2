#include "interactive.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "answer.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/run/host_checks.h"

// With --interactive the findings and the profiles are shown, and one answer chooses where the
// chain begins: a number, a name, or nothing for the first.
namespace safelaunch::cli {
namespace {

auto by_name(std::string_view name) {
  return [name](const profile::Profile& profile) { return profile.name == name; };
}

/// The chain's profiles, then all others that can be named here.
std::vector<profile::Profile> profiles_to_choose(const run::RunPlan& plan) {
  std::vector<profile::Profile> profiles = plan.chain;
  for (profile::Profile& other : profile::ProfileLibrary::standard(plan.environment).load_all())
    if (std::ranges::none_of(plan.chain, by_name(other.name))) profiles.push_back(std::move(other));
  return profiles;
}

void show(const std::string& text) {
  std::fputs(harmless(text).c_str(), stderr);
}

}  // namespace

std::string profile_menu(std::span<const Finding> findings,
                         std::span<const profile::Profile> profiles, std::size_t in_chain) {
  std::string text;
  for (const Finding& finding : findings)
    text += fmt::format("{:8}  {}: {}\n          {}\n", name(finding.severity), finding.cause,
                        finding.evidence, finding.remedy);
  text += findings.empty() ? "The host: nothing to say.\n\n" : "\n";
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (i == in_chain) text += "others:\n";
    text += fmt::format("{:3}  {:16} cost: {}\n", i + 1, profiles[i].name,
                        run::cost_in_words(profiles[i]));
  }
  return text;
}

Result<std::size_t> profile_meant(std::string_view answer,
                                  std::span<const profile::Profile> profiles) {
  if (answer.empty()) return std::size_t{0};
  if (const auto number = to_number<std::size_t>(answer)) {
    if (*number >= 1 && *number <= profiles.size()) return *number - 1;
    return Error{Errc::usage,
                 fmt::format("there is no number {}; 1 to {}", answer, profiles.size())};
  }
  const auto named = std::ranges::find_if(profiles, by_name(answer));
  if (named != profiles.end()) return static_cast<std::size_t>(named - profiles.begin());
  std::vector<std::string_view> names;
  for (const profile::Profile& profile : profiles) names.push_back(profile.name);
  return Error{Errc::usage, fmt::format("no profile '{}'{}", answer, did_you_mean(answer, names))};
}

void begin_with(run::RunPlan& plan, const profile::Profile& profile) {
  const profile::Profile chosen = profile;  // it may stand in the chain that changes now
  std::erase_if(plan.chain, by_name(chosen.name));
  std::erase(plan.chain_names, chosen.name);
  plan.chain.insert(plan.chain.begin(), chosen);
  plan.chain_names.insert(plan.chain_names.begin(), chosen.name);
  plan.chain_origin = "your choice, then " + plan.chain_origin;
  if (!plan.options.only && !plan.options.max_attempts)
    plan.max_attempts = static_cast<int>(plan.chain.size());
}

Result<Wish> ask_for_profile(run::RunPlan& plan) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0)
    return Error{Errc::usage, "--interactive asks on the terminal, and there is none"};
  if (const Result<void> read = run::read_rest_of_chain(plan); !read) return read.error();
  const std::vector<profile::Profile> profiles = profiles_to_choose(plan);
  const auto findings = plan.options.preflight ? run::examine_host(plan) : std::vector<Finding>();
  show(profile_menu(findings, profiles, plan.chain.size()));
  for (;;) {
    show(fmt::format("Begin with which profile? [1: {}; q: run nothing] ", profiles.front().name));
    std::string answer;
    if (!std::getline(std::cin, answer) || answer == "q") return Wish::nothing;
    const Result<std::size_t> meant = profile_meant(answer, profiles);
    if (!meant) {
      show(meant.error().message + "\n");
      continue;
    }
    if (*meant > 0) begin_with(plan, profiles[*meant]);
    return Wish::run;
  }
}

}  // namespace safelaunch::cli
