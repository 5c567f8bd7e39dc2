#include "safelaunch/probe/verdict.h"

#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/probe/survey.h"

// A person sees six steps where the probe has eight phases: a step is done when its last phase is.
namespace safelaunch::probe {
namespace {

constexpr std::array<const char*, kProbePhaseCount> kNames{
    "driver", "context",          "library", "unique_id",
    "init",   "first_all_reduce", "checked", "bandwidth"};

using Json = nlohmann::json;

/// A step of the probe as a person sees it: one or more phases.
struct Step {
  const char* word;
  Phase last;  ///< the phase that completes it
};
constexpr std::array kSteps{
    Step{"driver", Phase::driver},      Step{"device", Phase::context},
    Step{"nccl", Phase::unique_id},     Step{"init", Phase::init},
    Step{"all_reduce", Phase::checked}, Step{"bandwidth", Phase::bandwidth}};

std::string names_of(const std::vector<int>& ranks) {
  std::vector<Rank> known;
  known.reserve(ranks.size());
  for (const int rank : ranks) known.push_back(Rank{rank});
  return rank_list(known);
}

struct Reason {
  std::string operator()(const Works&) const { return {}; }
  std::string operator()(const Failed& failed) const {
    if (failed.failures.empty()) return {};
    const RankFailure& first = failed.failures.front();
    return fmt::format("rank {}: {}", first.rank, first.words);
  }
  std::string operator()(const Hung& hung) const {
    return fmt::format("{}: no answer within the deadline", names_of(hung.ranks));
  }
  std::string operator()(const Untold& untold) const { return untold.why; }
};

}  // namespace

const char* name(Phase phase) {
  return kNames[static_cast<std::size_t>(phase)];
}

std::optional<Phase> probe_phase(std::string_view word) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (word == kNames[i]) return static_cast<Phase>(i);
  return std::nullopt;
}

bool is_unique_id(std::string_view text) {
  constexpr std::size_t kLongest = 256;  // 128 bytes, two digits each
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<PhaseReport> parse_phase_report(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const auto phase = probe_phase(text_of(object, "phase", kLongestText));
  if (!phase) return std::nullopt;
  PhaseReport report;
  report.phase = *phase;
  report.ms = amount_of(object, "ms").value_or(0);
  report.id = text_of(object, "id", kLongestText);
  report.device = text_of(object, "device", kLongestText);
  report.nccl = text_of(object, "nccl", kLongestText);
  report.gb_per_s = amount_of(object, "gb_per_s");
  if (object.contains("failed")) {
    report.result = PhaseResult::failed;
    report.words = text_of(object, "failed", kLongestText);
  } else if (object.contains("declined")) {
    report.result = PhaseResult::declined;
    report.words = text_of(object, "declined", kLongestText);
  }
  return report;
}

std::optional<Phase> stopped_at(const Verdict& verdict) {
  if (const auto* hung = std::get_if<Hung>(&verdict)) return hung->phase;
  const auto* failed = std::get_if<Failed>(&verdict);
  if (failed == nullptr || failed->failures.empty()) return std::nullopt;
  return failed->failures.front().phase;
}

std::string steps(const Verdict& verdict, int ranks) {
  if (std::holds_alternative<Untold>(verdict)) return "not probed";
  const auto stopped = stopped_at(verdict);
  std::vector<std::string> words;
  for (const Step& step : kSteps) {
    if (step.last == Phase::bandwidth && !stopped) break;  // shown as a number
    if (step.last == Phase::checked && !stopped && ranks == 1) break;
    const bool fails = stopped && *stopped <= step.last;
    words.push_back(fmt::format("{} {}", step.word, fails ? "✗" : "✓"));
    if (fails) break;
  }
  return join(words, " ");
}

std::string reason(const Verdict& verdict) {
  return std::visit(Reason{}, verdict);
}

std::optional<double> bus_bandwidth(double gb_per_s, int ranks) {
  if (ranks < 2) return std::nullopt;
  return gb_per_s * 2 * (ranks - 1) / ranks;
}

}  // namespace safelaunch::probe
