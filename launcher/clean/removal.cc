#include "safelaunch/clean/removal.h"

#include "kill.h"
#include "safelaunch/base/format.h"

// The policy decides by the claim alone: a leftover without enough claim is left alone, and told.
namespace safelaunch::clean {
namespace {

constexpr const char* kLeftAlone = "left alone";

std::string remove_one(const StaleFile& stale) {
  const Result<void> removed = remove_stale(stale);
  return removed ? "removed" : removed.error().message;
}

/// Ends all of them together, since each may take the whole grace.
std::vector<Removal> end(const std::vector<StaleProcess>& processes, settings::CleanPolicy policy) {
  std::vector<ProcessId> doomed;
  for (const StaleProcess& stale : processes)
    if (acts_on(policy, stale.claim)) doomed.push_back(stale.process.id);
  const std::vector<EndedProcess> ended = end_processes(doomed);
  std::vector<Removal> removals;
  auto next = ended.begin();
  for (const StaleProcess& stale : processes)
    removals.push_back({stale, acts_on(policy, stale.claim) ? name((next++)->result) : kLeftAlone});
  return removals;
}

}  // namespace

std::vector<Removal> plan_removal(const Leftovers& left, settings::CleanPolicy policy) {
  std::vector<Removal> plan;
  for (const StaleProcess& stale : left.processes)
    plan.push_back({stale, acts_on(policy, stale.claim) ? "would be ended" : kLeftAlone});
  for (const StaleFile& stale : left.files)
    plan.push_back({stale, acts_on(policy, stale.claim) ? "would be removed" : kLeftAlone});
  return plan;
}

std::vector<Removal> remove(const Leftovers& left, settings::CleanPolicy policy) {
  std::vector<Removal> removals = end(left.processes, policy);
  for (const StaleFile& stale : left.files)
    removals.push_back({stale, acts_on(policy, stale.claim) ? remove_one(stale) : kLeftAlone});
  return removals;
}

std::string describe(const Removal& removal) {
  const auto words = [](const auto& stale) { return describe(stale); };
  return fmt::format("{}: {}", removal.done, std::visit(words, removal.what));
}

}  // namespace safelaunch::clean
