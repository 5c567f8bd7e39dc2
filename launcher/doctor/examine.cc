#include "safelaunch/doctor/examine.h"

#include <algorithm>

#include "checks.h"
#include "safelaunch/base/format.h"

namespace safelaunch {

std::string in_words(std::uint64_t bytes) {
  constexpr double kStep = 1024.0;
  const double kibibytes = static_cast<double>(bytes) / kStep;
  if (kibibytes < kStep) return fmt::format("{:.0f} KiB", kibibytes);
  const double mebibytes = kibibytes / kStep;
  if (mebibytes < kStep) return fmt::format("{:.0f} MiB", mebibytes);
  return fmt::format("{:.1f} GiB", mebibytes / kStep);
}

std::vector<Advice> examine(const HostFacts& facts) {
  Advices advices;
  check_world(facts, advices);
  check_master(facts, advices);
  check_interfaces(facts, advices);
  check_gpus(facts, advices);
  check_processes(facts, advices);
  check_shared_memory(facts, advices);
  check_python(facts, advices);
  check_infiniband(facts, advices);
  check_limits(facts, advices);
  check_variables(facts, advices);
  std::ranges::stable_sort(advices, std::ranges::greater{},
                           [](const Advice& advice) { return advice.finding.severity; });
  return advices;
}

std::vector<Finding> preflight_findings(Subject subject) {
  if (subject.command) subject.command->warnings.clear();  // a run tells them in any case
  std::vector<Finding> findings;
  for (Advice& advice : examine(read_facts(std::move(subject), Depth::quick)))
    if (advice.finding.severity != Severity::note) findings.push_back(std::move(advice.finding));
  return findings;
}

bool blocks(const Finding& finding) {
  return finding.severity == Severity::blocks;
}

}  // namespace safelaunch
