#include "gpu_doubt.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/gpu/devices.h"
#include "safelaunch/gpu/findings.h"

namespace safelaunch::run {
namespace {

bool names_cuda(std::string_view text) {
  constexpr std::array<std::string_view, 4> kWords{"CUDA error", "Cuda failure",
                                                   "unhandled cuda error", "CUDA out of memory"};
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

std::vector<Finding> troubled_gpus(const gpu::Facts& facts, const Environment& environment) {
  gpu::Use use;
  use.devices = gpu::visible_devices(facts, environment);
  std::vector<Finding> findings = gpu::gpu_findings(facts, use);
  std::erase_if(findings, [](const Finding& one) {
    return one.severity != Severity::blocks ||
           (one.cause != cause::kGpuIll && one.cause != cause::kGpuHeld);
  });
  return findings;
}

}  // namespace safelaunch::run
