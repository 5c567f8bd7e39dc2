#include "safelaunch/doctor/examine.h"

#include <algorithm>
#include <iterator>

#include "checks.h"
#include "safelaunch/clean/removal.h"

namespace safelaunch::doctor {

std::vector<Advice> examine(const HostFacts& facts) {
  Advices advices;
  check_world(facts, advices);
  check_master(facts, advices);
  check_interfaces(facts, advices);
  check_gpus(facts, advices);
  check_xids(facts, advices);
  check_processes(facts, advices);
  check_shared_memory(facts, advices);
  check_python(facts, advices);
  check_script(facts, advices);
  check_storage(facts, advices);
  check_infiniband(facts, advices);
  check_efa(facts, advices);
  check_limits(facts, advices);
  check_variables(facts, advices);
  std::ranges::stable_sort(advices, std::ranges::greater{},
                           [](const Advice& advice) { return advice.finding.severity; });
  return advices;
}

std::vector<Finding> preflight_findings(Subject subject) {
  // A run tells the command's mistakes in any case.
  if (subject.command) subject.command->warnings.clear();
  std::vector<Finding> findings;
  for (Advice& advice : examine(read_facts(std::move(subject), Depth::quick)))
    if (advice.finding.severity != Severity::note) findings.push_back(std::move(advice.finding));
  return findings;
}

bool blocks(const Finding& finding) {
  return finding.severity == Severity::blocks;
}

// ---- what --fix does ----------------------------------------------------------------------------

FixReport fix(std::span<const Advice> advices) {
  clean::Leftovers left;
  for (const Advice& advice : advices) {
    std::ranges::copy(advice.files, std::back_inserter(left.files));
    std::ranges::copy(advice.processes, std::back_inserter(left.processes));
  }
  FixReport report;
  for (const clean::Removal& removal : clean::remove(left, settings::CleanPolicy::ours))
    report.push_back(describe(removal));
  return report;
}

}  // namespace safelaunch::doctor
