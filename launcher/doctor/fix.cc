#include "safelaunch/doctor/fix.h"

#include <algorithm>
#include <iterator>

#include "safelaunch/clean/removal.h"

namespace safelaunch::doctor {

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
