#include "safelaunch/probe/tournament.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::probe {
namespace {

bool works(const ProbedProfile& probed) {
  return std::holds_alternative<Works>(probed.verdict);
}

bool refuted(const ProbedProfile& probed) {
  return stopped_at(probed.verdict).has_value();
}

/// Zero where it was not measured.
double bandwidth(const ProbedProfile& probed) {
  const auto* success = std::get_if<Works>(&probed.verdict);
  return success != nullptr ? success->bus_gb_per_s.value_or(0) : 0;
}

std::vector<std::string> names_of(std::span<const ProbedProfile> probed,
                                  bool (*chosen)(const ProbedProfile&)) {
  std::vector<std::string> names;
  for (const ProbedProfile& one : probed)
    if (chosen(one)) names.push_back(one.profile);
  return names;
}

const char* verb_for(const std::vector<std::string>& names, const char* one, const char* several) {
  return names.size() == 1 ? one : several;
}

Conclusion none_works(std::span<const ProbedProfile> probed) {
  const auto failed = names_of(probed, refuted);
  if (failed.empty()) return {"", "nothing can be told: no profile was probed to its end", ""};
  return {
      "",
      fmt::format("none works: {} {}", list_in_words(failed), verb_for(failed, "fails", "fail")),
      ""};
}

/// The words on the other profiles beside the winner.
std::string beside(std::span<const ProbedProfile> probed, std::size_t best) {
  std::string text;
  const auto failed = names_of(probed, refuted);
  if (!failed.empty())
    text = fmt::format("; {} {}", list_in_words(failed), verb_for(failed, "does not", "do not"));
  for (std::size_t i = 0; i < probed.size(); ++i) {
    const auto ratio = cost_ratio(probed[best].verdict, probed[i].verdict);
    if (i != best && ratio && *ratio > 1 + kBandwidthNoise)
      text += fmt::format("; {} is {:.1f} times slower", probed[i].profile, *ratio);
  }
  return text;
}

}  // namespace

std::optional<std::size_t> winner(std::span<const ProbedProfile> probed) {
  double fastest = 0;
  for (const ProbedProfile& one : probed) fastest = std::max(fastest, bandwidth(one));
  for (std::size_t i = 0; i < probed.size(); ++i)
    if (works(probed[i]) && bandwidth(probed[i]) >= fastest * (1 - kBandwidthNoise)) return i;
  return std::nullopt;
}

std::optional<double> cost_ratio(const Verdict& base, const Verdict& other) {
  const auto* fast = std::get_if<Works>(&base);
  const auto* slow = std::get_if<Works>(&other);
  if (fast == nullptr || slow == nullptr) return std::nullopt;
  if (fast->bus_gb_per_s.value_or(0) <= 0 || slow->bus_gb_per_s.value_or(0) <= 0)
    return std::nullopt;
  return *fast->bus_gb_per_s / *slow->bus_gb_per_s;
}

Conclusion conclude(std::span<const ProbedProfile> probed, int ranks) {
  const auto best = winner(probed);
  if (!best) return none_works(probed);
  const std::string& name = probed[*best].profile;
  if (ranks == 1)
    return {name,
            fmt::format("{}: driver, device and NCCL work; whether ranks can meet, one rank "
                        "cannot tell (--ranks 2 lets two share the GPU)",
                        name),
            ""};
  const bool raced = names_of(probed, works).size() > 1;
  return {name,
          fmt::format("{} works{}{}", name, raced ? " and is the one to use" : "",
                      beside(probed, *best)),
          fmt::format("safelaunch --profile {} -- COMMAND", name)};
}

}  // namespace safelaunch::probe
