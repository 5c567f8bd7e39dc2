#include "safelaunch/run/preflight.h"
#include "profile_options.h"

#include "safelaunch/clean/removal.h"
#include "safelaunch/clean/survey.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/report/run_directory.h"

namespace safelaunch::run {
namespace {

clean::NeededGpus gpus_of(const RunPlan& plan) {
  if (plan.spawn && !plan.spawn->devices.empty())
    return clean::gpus_named(plan.spawn->devices, plan.spawn->workers);
  const Environment environment = plan.environment_under(plan.chain.front()).environment;
  const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
  if (visible == environment.end()) return std::nullopt;
  return clean::gpus_named(job::parse_devices(visible->second), std::nullopt);
}

clean::Needs needs_of(const RunPlan& plan) {
  clean::Needs needs;
  const std::optional<int> port = plan.spawn ? plan.spawn->master_port : plan.command.port.value;
  if (port && *port > 0 && *port <= 65535) needs.ports.push_back(static_cast<std::uint16_t>(*port));
  needs.gpus = gpus_of(plan);
  return needs;
}

// What is done before the run is done for its first attempt.
settings::CleanPolicy first_clean_policy(const RunPlan& plan) {
  return options_under(plan.options, plan.chain.front()).clean;
}

}  // namespace

std::vector<std::string> clean_before_run(const RunPlan& plan) {
  std::vector<std::string> lines;
  const settings::CleanPolicy policy = first_clean_policy(plan);
  if (policy == settings::CleanPolicy::off) return lines;
  const clean::Leftovers left{clean::survey(needs_of(plan), clean::read_surroundings()), {}};
  for (const clean::Removal& removal : clean::remove(left, policy)) {
    const auto& stale = std::get<clean::StaleProcess>(removal.what);
    if (clean::acts_on(policy, stale.claim))
      lines.push_back("stale, " + describe(removal));
    else if (!stale.holds.empty())
      lines.push_back(describe(removal));
  }
  return lines;
}

std::vector<Finding> examine_host(const RunPlan& plan) {
  return doctor::preflight_findings(
      {.environment = plan.environment_under(plan.chain.front()).environment,
       .command = plan.command,
       .spawn = plan.spawn,
       .removes_locks = first_clean_policy(plan) != settings::CleanPolicy::off,
       .runs = report::places_of_runs(plan.environment)});
}

}  // namespace safelaunch::run
