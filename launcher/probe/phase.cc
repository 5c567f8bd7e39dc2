#include "safelaunch/probe/phase.h"

#include <array>

#include "json_text.h"

namespace safelaunch::probe {
namespace {

constexpr std::array<const char*, kProbePhaseCount> kNames{
    "driver", "context",          "library", "unique_id",
    "init",   "first_all_reduce", "checked", "bandwidth"};

using Json = nlohmann::json;

}  // namespace

const char* name(Phase phase) {
  return kNames[static_cast<std::size_t>(phase)];
}

std::optional<Phase> probe_phase(std::string_view word) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (word == kNames[i]) return static_cast<Phase>(i);
  return std::nullopt;
}

std::optional<PhaseReport> parse_phase_report(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const auto phase = probe_phase(text(object, "phase"));
  if (!phase) return std::nullopt;
  PhaseReport report;
  report.phase = *phase;
  report.ms = amount_of(object, "ms").value_or(0);
  report.id = text(object, "id");
  report.device = text(object, "device");
  report.nccl = text(object, "nccl");
  report.gb_per_s = amount_of(object, "gb_per_s");
  if (object.contains("failed")) {
    report.result = PhaseResult::failed;
    report.words = text(object, "failed");
  } else if (object.contains("declined")) {
    report.result = PhaseResult::declined;
    report.words = text(object, "declined");
  }
  return report;
}

}  // namespace safelaunch::probe
