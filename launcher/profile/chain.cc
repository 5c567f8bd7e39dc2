#include "safelaunch/profile/chain.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// The next profile is the first candidate that nothing speaks against. Profiles that heal the cause
// come first, those of the chain before all others, then the chain in its order. The reason why a
// profile was passed over is told once.
namespace safelaunch::profile {
namespace {

bool holds(std::span<const std::string> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool heals(const Profile& profile, std::string_view cause) {
  return !cause.empty() && holds(profile.heals, cause);
}

bool is_among(std::span<const Profile> profiles, std::string_view name) {
  return std::any_of(profiles.begin(), profiles.end(),
                     [&](const Profile& profile) { return profile.name == name; });
}

struct Candidate {
  const Profile* profile;
  std::string why;
};

// All that could be next, the best first. A healer of the chain comes twice; that does no harm,
// since the reason why it was struck out is told once only.
std::vector<Candidate> candidates(const ChainState& state) {
  std::vector<Candidate> result;
  const std::string healing = fmt::format("heals {}", state.cause);
  for (const Profile& profile : state.chain)
    if (heals(profile, state.cause)) result.push_back({&profile, healing});
  const auto first_outside = static_cast<std::ptrdiff_t>(result.size());
  for (const Profile& profile : state.known)
    if (heals(profile, state.cause) && !is_among(state.chain, profile.name))
      result.push_back({&profile, healing});
  std::stable_sort(
      result.begin() + first_outside, result.end(),
      [](const Candidate& a, const Candidate& b) { return a.profile->cost < b.profile->cost; });
  for (const Profile& profile : state.chain) result.push_back({&profile, "next in the chain"});
  return result;
}

// Why a profile must not be chosen, or nothing.
std::string objection(const ChainState& state, const Profile& profile) {
  if (!state.cause.empty() && holds(profile.worsens, state.cause))
    return fmt::format("worsens {}", state.cause);
  if (profile.nodes == Nodes::one && state.nodes > 1)
    return fmt::format("works on one node only, the job has {}", state.nodes);
  const auto hopeless = std::ranges::find(state.hopeless, profile.name, &StruckOut::name);
  return hopeless != state.hopeless.end() ? hopeless->why : std::string();
}

}  // namespace

std::vector<std::string> default_chain() {
  return {"basic", "conservative", "no-shm", "gloo-fallback"};
}

Result<std::vector<std::string>> parse_chain(std::span<const std::string> words) {
  std::vector<std::string> chain;
  for (const std::string& word : words) {
    for (std::size_t at = 0; at <= word.size();) {
      const std::size_t comma = std::min(word.find(',', at), word.size());
      const std::string name = word.substr(at, comma - at);
      if (name.empty())
        return Error{
            Errc::usage,
            fmt::format("'{}' is not a list of profiles: a name between the commas is empty",
                        join(words, ","))};
      if (holds(chain, name))
        return Error{Errc::usage, fmt::format("'{}' is not a list of profiles: {} is there twice",
                                              join(words, ","), name)};
      chain.push_back(name);
      at = comma + 1;
    }
  }
  return chain;
}

NextProfile next_profile(const ChainState& state) {
  NextProfile next;
  // True where the profile may be tried; an objection to it is told once.
  const auto may_be_tried = [&](const Profile& profile) {
    if (holds(state.tried, profile.name)) return false;
    StruckOut struck{profile.name, objection(state, profile)};
    if (struck.why.empty()) return true;
    auto& told = next.struck_out;
    if (std::find(told.begin(), told.end(), struck) == told.end())
      told.push_back(std::move(struck));
    return false;
  };
  for (Candidate& candidate : candidates(state)) {
    if (!may_be_tried(*candidate.profile)) continue;
    next.profile = candidate.profile;
    next.why = std::move(candidate.why);
    break;
  }
  // A healer comes before the chain: why the chain's own next ones are passed over is worth a word.
  (void)std::find_if(state.chain.begin(), state.chain.end(), may_be_tried);
  return next;
}

}  // namespace safelaunch::profile
