#include "safelaunch/probe/verdict.h"

#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"

namespace safelaunch {
namespace {

/// What a person is shown of the phases.
struct Step {
  const char* word;
  ProbePhase last;  ///< the phase that completes it
};
constexpr std::array kSteps{
    Step{"driver", ProbePhase::driver},      Step{"device", ProbePhase::context},
    Step{"nccl", ProbePhase::unique_id},     Step{"init", ProbePhase::init},
    Step{"all_reduce", ProbePhase::checked}, Step{"bandwidth", ProbePhase::bandwidth}};

std::string names_of(const std::vector<int>& ranks) {
  std::vector<Rank> known;
  known.reserve(ranks.size());
  for (const int rank : ranks) known.push_back(Rank{rank});
  return rank_list(known);
}

struct Reason {
  std::string operator()(const ProbeWorks&) const { return {}; }
  std::string operator()(const ProbeFailed& failed) const {
    if (failed.failures.empty()) return {};
    const RankFailure& first = failed.failures.front();
    return fmt::format("rank {}: {}", first.rank, first.words);
  }
  std::string operator()(const ProbeHung& hung) const {
    return fmt::format("{}: no answer within the deadline", names_of(hung.ranks));
  }
  std::string operator()(const ProbeUntold& untold) const { return untold.why; }
};

}  // namespace

std::optional<ProbePhase> stopped_at(const ProbeVerdict& verdict) {
  if (const auto* hung = std::get_if<ProbeHung>(&verdict)) return hung->phase;
  const auto* failed = std::get_if<ProbeFailed>(&verdict);
  if (failed == nullptr || failed->failures.empty()) return std::nullopt;
  return failed->failures.front().phase;
}

std::string steps(const ProbeVerdict& verdict, int ranks) {
  if (std::holds_alternative<ProbeUntold>(verdict)) return "not probed";
  const auto stopped = stopped_at(verdict);
  std::string text;
  for (const Step& step : kSteps) {
    if (step.last == ProbePhase::bandwidth && !stopped) break;  // shown as a number
    if (step.last == ProbePhase::checked && !stopped && ranks == 1) break;
    const bool fails = stopped && *stopped <= step.last;
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", step.word, fails ? "✗" : "✓");
    if (fails) break;
  }
  return text;
}

std::string reason(const ProbeVerdict& verdict) {
  return std::visit(Reason{}, verdict);
}

std::optional<double> bus_bandwidth(double gb_per_s, int ranks) {
  if (ranks < 2) return std::nullopt;
  return gb_per_s * 2 * (ranks - 1) / ranks;
}

}  // namespace safelaunch
