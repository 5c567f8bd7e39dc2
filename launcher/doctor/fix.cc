#include "safelaunch/doctor/fix.h"

#include "safelaunch/base/format.h"
#include "safelaunch/clean/kill.h"

namespace safelaunch {
namespace {

std::string remove_one(const StaleFile& stale) {
  const Result<void> removed = remove_stale(stale);
  if (!removed) return removed.error().message;
  return fmt::format("removed {} ({})", stale.file.path, stale.why);
}

}  // namespace

FixReport fix(std::span<const Advice> advices) {
  FixReport report;
  std::vector<ProcessId> processes;
  std::vector<std::string> words;
  for (const Advice& advice : advices) {
    for (const StaleFile& stale : advice.files) report.push_back(remove_one(stale));
    for (const StaleProcess& stale : advice.processes) {
      processes.push_back(stale.process.id);
      words.push_back(describe(stale));
    }
  }
  const std::vector<EndedProcess> ended = end_processes(processes);
  for (std::size_t i = 0; i < ended.size(); ++i)
    report.push_back(fmt::format("{}: {}", name(ended[i].result), words[i]));
  return report;
}

}  // namespace safelaunch
