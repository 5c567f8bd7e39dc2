#include "probe_plan.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "safelaunch/agree/token.h"
#include "safelaunch/base/format.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/job/command.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/report/report.h"
#include "verb_texts.h"
#include "verbs.h"

// A probe is planned as a run is, from the same files, variables and rules: which profiles, which
// NCCL, and which nodes meet where. So it tries what a run would try, and a mistake is an error
// before a GPU is touched.
namespace safelaunch::cli {

Result<ProbePlan> make_probe_plan(ProbeOptions options) {
  ProbePlan plan;
  plan.environment = current_environment();
  if (!options.devices.empty()) plan.environment["CUDA_VISIBLE_DEVICES"] = options.devices;
  auto configuration = plan::read_configuration(options.config, options.cluster, plan.environment);
  if (!configuration) return configuration.error();
  plan.config = configuration->rules.variables;
  auto party = plan::plan_meeting(meeting_of(options), *configuration, plan.environment, "probe");
  if (!party) return party.error();
  plan.party = std::move(*party);
  if (!plan.party && !options.html.empty())
    return Error{Errc::usage, "--html shows pairs of nodes, and there is one node (--nnodes)"};
  std::error_code none;
  if (std::filesystem::exists(options.html, none) && !report::is_report_page(options.html))
    return no_page(options.html);
  const std::filesystem::path page = options.html;
  const std::filesystem::path folder = page.has_parent_path() ? page.parent_path() : ".";
  if (!page.empty() && access(folder.c_str(), W_OK) != 0)
    return Error{Errc::usage, fmt::format("--html {}: cannot be written: {}", options.html,
                                          std::strerror(errno))};
  auto overrides = profile::parse_overrides(options.set, options.unset);
  if (!overrides) return overrides.error();
  plan.overrides = std::move(*overrides);
  auto profiles = choose_profiles(options, configuration->rules, plan.environment);
  if (!profiles) return profiles.error();
  plan.profiles = std::move(*profiles);
  auto program = launch::find_probe_program(plan.environment);
  if (!program) return Error{Errc::peer_lost, program.error().message};
  plan.program = std::move(*program);
  plan.options = std::move(options);
  return plan;
}

Result<std::vector<profile::Profile>> choose_profiles(const ProbeOptions& options,
                                                      const profile::Rules& rules,
                                                      const Environment& environment) {
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(environment);
  std::vector<std::string> chain = rules.chain.empty() ? profile::default_chain() : rules.chain;
  if (options.all) return probe::chain_first(library.load_all(), chain);
  if (!options.profiles.empty()) {
    auto named = profile::parse_chain(options.profiles);
    if (!named) return named.error();
    chain = std::move(*named);
  }
  auto profiles = library.load_chain(chain, "probe");
  for (const std::string& warning : library.take_warnings()) warn(warning);
  return profiles;
}

std::string python_of(const ProbePlan& plan) {
  if (plan.options.command.empty()) return "python3";
  const auto no_files = [](const std::string&) { return job::FileAt{}; };
  return job::recognise(plan.options.command, plan.environment, no_files)
      .python.value_or("python3");
}

settings::RunOptions meeting_of(const ProbeOptions& options) {
  settings::RunOptions wishes;
  const auto give = [&](const char* name) { wishes.given[name] = {"", std::string("--") + name}; };
  if ((wishes.nnodes = options.nnodes)) give("nnodes");
  if ((wishes.node_rank = options.node_rank)) give("node-rank");
  if ((wishes.master_port = options.master_port)) give("master-port");
  if (!(wishes.master_addr = options.master_addr).empty()) give("master-addr");
  if (!(wishes.rendezvous = options.rendezvous).empty()) give("rendezvous");
  if ((wishes.nodes_timeout = options.nodes_timeout)) give("nodes-timeout");
  return wishes;
}

Environment environment_under(const profile::Profile& profile, const ProbePlan& plan) {
  return profile::apply_profile(profile, plan.environment, plan.config, plan.overrides).environment;
}

Result<void> find_nccl(ProbePlan& plan) {
  ProbeGround& ground = plan.ground;
  ground.nccl_file = plan.options.nccl;
  ground.nccl_origin = "--nccl";
  if (ground.nccl_file.empty()) {
    const gpu::JobLibraries libraries = gpu::find_job_libraries(python_of(plan), plan.environment);
    for (const Finding& finding : gpu::library_findings(libraries))
      warn(fmt::format("{}; {}", finding.evidence, finding.remedy));
    if (libraries.nccl_inside_torch) warn("this torch has its NCCL inside; another copy is probed");
    if (libraries.nccl.empty())
      return Error{Errc::peer_lost,
                   "there is no libnccl.so.2 in reach of the command (--nccl FILE)"};
    ground.nccl_file = libraries.nccl.front().path;
    ground.nccl_origin = describe(libraries.nccl.front().origin);
  }
  auto survey = probe::survey_nccl(plan.program, ground.nccl_file,
                                   environment_under(plan.profiles.front(), plan));
  if (!survey) return survey.error();
  ground.nccl = std::move(*survey);
  return {};
}

probe::Limits limits_of(const ProbeOptions& options) {
  probe::Limits limits;
  if (options.driver_timeout) limits[probe::Phase::driver] = *options.driver_timeout;
  if (options.init_timeout) limits[probe::Phase::init] = *options.init_timeout;
  if (options.collective_timeout)
    limits[probe::Phase::first_all_reduce] = *options.collective_timeout;
  return limits;
}

std::vector<probe::Entrant> entrants_of(const ProbePlan& plan) {
  std::vector<probe::Entrant> entrants;
  for (const profile::Profile& one : plan.profiles)
    entrants.push_back({one.name, one.backend, one.processes, environment_under(one, plan)});
  return entrants;
}

probe::Spec spec_of(const ProbePlan& plan, const Environment& environment,
                    const probe::Part& part) {
  const int gpus = static_cast<int>(plan.ground.driver.names.size());
  probe::Spec spec;
  spec.program = plan.program;
  spec.nccl = plan.ground.nccl_file;
  spec.limits = limits_of(plan.options);
  spec.part = part;
  Environment ours = environment;
  ours.erase(std::string(agree::kTokenVariable));
  spec.seats = probe::seat_ranks(plan.ground.ranks, gpus, plan.ground.nccl.version, ours, part);
  return spec;
}

std::size_t longest_name(const std::vector<profile::Profile>& profiles) {
  std::size_t width = std::string_view("profile").size();
  for (const profile::Profile& profile : profiles) width = std::max(width, profile.name.size());
  return width;
}

}  // namespace safelaunch::cli
