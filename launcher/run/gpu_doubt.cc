#include "gpu_doubt.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/gpu/devices.h"
#include "safelaunch/gpu/findings.h"

namespace safelaunch::run {
namespace {

bool names_cuda(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords{"CUDA error", "Cuda failure",
                                                   "unhandled cuda error"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

bool blames_cuda(const AttemptRecord& record) {
  if (went_well(record)) return false;
  return std::ranges::any_of(record.ranks.raised,
                             [](const RankRaised& one) { return names_cuda(one.message); }) ||
         std::ranges::any_of(record.tails, [](const auto& tail) { return names_cuda(tail.text); });
}

std::vector<std::string> ill_gpus(const gpu::Facts& facts, const Environment& environment) {
  gpu::Use use;
  use.devices = gpu::visible_devices(facts, environment);
  std::vector<std::string> ill;
  for (const Finding& finding : gpu::gpu_findings(facts, use))
    if (finding.cause == cause::kGpuIll && finding.severity == Severity::blocks)
      ill.push_back(finding.evidence);
  return ill;
}

}  // namespace safelaunch::run
