#include "safelaunch/plan/plan.h"

#include <algorithm>
#include <array>

#include "plan_steps.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/gpu/devices.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/gpu/visible.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/network.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/host/variable_files.h"
#include "safelaunch/output/rank_selection.h"
#include "safelaunch/plan/typed_command.h"
#include "safelaunch/plan/wrapper.h"
#include "safelaunch/profile/layers.h"
#include "safelaunch/settings/receiver.h"

// A plan is made once, before anything runs, from the options, safelaunch.yaml, the command and the
// environment: the chain of profiles, how many attempts, the workers of our own spawn. Every
// mistake in these is an error here. The chain and the warnings are steps of their own.
namespace safelaunch::plan {

namespace {

// WSL has no list in /proc.
std::vector<std::string> gpu_models(const Environment& environment) {
  std::vector<std::string> models = host::gpu_models();
  if (models.empty()) models = gpu::find_visible_gpus(environment, gpu::kGpuDeadline).names;
  return models;
}

}  // namespace

Result<Configuration> read_configuration(const std::string& file, const std::string& cluster,
                                         const Environment& environment) {
  Configuration result;
  Result<profile::FoundConfig> found = profile::find_config(file, environment);
  if (!found) return found.error();
  result.warnings = std::move(found->warnings);
  for (std::string& warning : settings::misspelt_settings(environment))
    result.warnings.push_back(std::move(warning));
  const profile::Config& config = found->config;
  // Facts of the host are read only where a rule asks for them: most people have none.
  profile::ClusterHost host;
  host.environment = environment;
  if (!config.clusters.empty()) {
    host.hostname = host::read_identity().hostname;
    host.addresses = host::local_addresses();
    if (profile::asks_for_gpus(config)) host.gpus = gpu_models(environment);
  }
  const std::string of_variable = settings::environment_name("cluster");
  const std::string_view named =
      cluster.empty() ? value_or(environment, of_variable) : std::string_view(cluster);
  const Result<const profile::ClusterRule*> rule = profile::choose_cluster(config, named, host);
  if (!rule && cluster.empty())
    return Error{rule.error().code, of_variable + ": " + rule.error().message};
  if (!rule) return rule.error();
  result.rules = profile::rules_for(config, *rule);
  result.locks = config.locks;
  result.unasked = std::move(found->unasked);
  if (*rule != nullptr) {
    result.cluster = (*rule)->name;
    result.cluster_place = (*rule)->place;
  }
  const Result<settings::Settings> variables = settings::settings_from(environment);
  if (!variables) return variables.error();
  result.settings = settings::overlay(result.rules.options, *variables);
  return result;
}

settings::RunOptions options_under(settings::RunOptions options, const profile::Profile& profile) {
  for (const auto& [name, setting] : profile.options) {
    if (options.given.contains(name)) continue;
    const settings::Option& option =
        *settings::find_run_option(name);  // else the profile was not read
    option.put.write(option, &options, setting.value);
  }
  return options;
}

// An option that counts nodes or ranks is the wish for workers of our own spawn. The rest of those
// options may stand in a file for jobs of every kind.
bool wants_own_workers(const settings::RunOptions& options) {
  return !options.nproc_per_node.empty() || options.nnodes || options.node_rank ||
         options.start_rank || options.world_size;
}

namespace {

// An IPv6 address stands in brackets before a port, and bare in MASTER_ADDR.
std::string in_brackets(const std::string& host) {
  const bool bare = host.find(':') != std::string::npos && !host.starts_with('[');
  return bare ? "[" + host + "]" : host;
}

std::string without_brackets(const std::string& host) {
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

Result<job::SpawnOptions> spawn_options(const settings::RunOptions& options,
                                        const Environment& environment) {
  job::SpawnOptions result;
  if (!options.nproc_per_node.empty()) {
    const Result<job::ProcessCount> count = job::parse_process_count(options.nproc_per_node);
    if (!count) return Error{count.error().code, "--nproc-per-node: " + count.error().message};
    if (const int* number = std::get_if<int>(&*count); number && *number > kMostRanksOfANode)
      return Error{Errc::usage, fmt::format("--nproc-per-node {}: a node has at most {} ranks",
                                            *number, kMostRanksOfANode)};
    result.processes_per_node = *count;
  }
  for (std::string_view words = options.devices; !words.empty();)
    result.devices.emplace_back(trimmed(take_word(words, ',')));
  job::Starter starter = job::find_starter(environment);
  if (options.nnodes && starter.nodes != 0 && starter.nodes != *options.nnodes) starter = {};
  result.nodes = starter.nodes > 1 ? starter.nodes : options.nnodes;
  result.node_rank = options.node_rank;
  // A pod of a StatefulSet has a number too where it does its job alone.
  if (!result.node_rank && result.nodes.value_or(1) > 1)
    result.node_rank = job::node_told(starter, environment);
  if (!starter.hosts.empty() && !environment.contains("MASTER_ADDR"))
    result.master_addr = starter.hosts.front();
  result.start_rank = options.start_rank;
  result.world_size = options.world_size;
  if (!options.master_addr.empty()) result.master_addr = without_brackets(options.master_addr);
  result.master_port = options.master_port;
  return result;
}

// A choice of none would hide all that the ranks say.
Result<void> refuse_ranks_that_are_not(const RunPlan& plan) {
  const Result<output::RankSelection> chosen = output::RankSelection::parse(plan.options.ranks);
  if (!chosen) return chosen.error();
  if (!plan.spawn) return {};
  const int last = plan.spawn->world_size - 1;
  if (const auto beyond = chosen->beyond(plan.spawn->world_size))
    return Error{Errc::usage, fmt::format("--ranks {}: this job has no rank {}; its last is {}",
                                          plan.options.ranks, beyond->value, last)};
  return {};
}

Result<void> plan_own_spawn(RunPlan& plan) {
  if (!wants_own_workers(plan.options)) return {};
  const bool by_launcher = spawns_by_itself(plan.command.launcher);
  if (by_launcher && plan.options.nproc_per_node.empty()) return {};  // warned of
  if (by_launcher)
    return Error{
        Errc::usage,
        fmt::format("--nproc-per-node {} makes safelaunch spawn the workers, and {} spawns "
                    "its own; give the option to one of the two",
                    plan.options.nproc_per_node, name(plan.command.launcher))};
  const Result<job::SpawnOptions> wanted = spawn_options(plan.options, plan.environment);
  if (!wanted) return wanted.error();
  Result<job::SpawnPlan> spawn = job::plan_spawn(*wanted, plan.environment, host_counts(plan));
  if (!spawn) return spawn.error();
  plan.spawn = std::move(*spawn);
  return {};
}

// Below the ports that the kernel hands out, and where few programs listen.
constexpr int kAgreementBelow = 10'000;

int agreement_port(int port) {
  return port > kAgreementBelow + 1'024 ? port - kAgreementBelow : port + kAgreementBelow;
}

constexpr Duration kForEver = std::chrono::years(1);

// Without a wish the agents meet where the ranks do, on a port of their own.
Result<void> plan_party(RunPlan& plan) {
  const std::string& wanted = plan.options.rendezvous;
  if (wanted == "none") return {};
  auto placement = job::find_placement(plan.command, plan.spawn, plan.environment);
  if (!placement && !wanted.empty())
    return Error{Errc::usage,
                 fmt::format("--rendezvous {}: this is a job of one node; say how many there are "
                             "(--nnodes, or the launcher's own option)",
                             wanted)};
  if (!placement || (wanted.empty() && placement->head.empty())) return {};
  PartyPlan party;
  party.certain = !wanted.empty() || plan.spawn || !placement->starter.empty();
  Result<agree::Address> address = agree::parse_address(
      !wanted.empty() ? wanted
                      : fmt::format("tcp://{}:{}", in_brackets(placement->head),
                                    agreement_port(placement->port.value_or(0))));
  if (!address) return address.error();
  party.placement = *std::move(placement);
  party.address = *std::move(address);
  if (const auto within = plan.options.nodes_timeout)
    party.nodes_within = within->count() == 0 ? kForEver : *within;
  if (const auto lease = plan.options.node_lease) {
    constexpr Duration kShortest = std::chrono::seconds(5);
    constexpr Duration kLongest = std::chrono::hours(1);
    if (*lease < kShortest || *lease > kLongest)
      return Error{Errc::usage, fmt::format("--node-lease {}: it can be 5s to 1h",
                                            plan.options.given.at("node-lease").value)};
    party.terms = agree::terms_of(*lease);
  }
  plan.party = std::move(party);
  return {};
}

// Nobody has said after how long the job is to be ended, and its own pace is a guess.
Result<void> refuse_to_kill_at_no_time(const RunPlan& plan) {
  for (const profile::Profile& one : plan.chain)
    if (one.on_stall != profile::OnStall::report &&
        !plan.options.stall_timeout.value_or(one.timeouts.stall).after)
      return Error{Errc::usage,
                   fmt::format("profile {} ends training that stands still (on_stall: {}); say "
                               "after how long: timeouts: {{stall: 10min}}, or --stall-timeout",
                               one.name, name(one.on_stall))};
  return {};
}

// Better now than when training has failed. The other nodes would have to start at the same moment.
Result<void> refuse_to_resume(const RunPlan& plan) {
  for (const profile::Profile& one : plan.chain) {
    if ((one.resume || one.retry) && plan.others_start_ranks() && !plan.party)
      return Error{Errc::usage,
                   fmt::format("profile {} starts training again ({}); that needs the other "
                               "nodes' agreement, and --rendezvous says how they agree",
                               one.name, one.resume ? "resume" : "retry")};
    if (one.resume && !plan.command.script && !one.resume->append.empty())
      return Error{Errc::usage,
                   fmt::format("profile {} adds arguments to the script (resume), but safelaunch "
                               "cannot tell where the script begins in this command",
                               one.name)};
  }
  return {};
}

// DeepSpeed hands them to the hosts that it reaches by ssh. Where an agent on each node starts its
// own, they would be forgotten.
void take_deepspeed_variables(RunPlan& plan) {
  if (!plan.party || plan.command.launcher != job::Launcher::deepspeed) return;
  for (host::FileVariable& one : host::deepspeed_file_variables(plan.environment))
    plan.configuration.rules.variables.env.try_emplace(
        one.name, profile::VariableSetting{std::move(one.value), {one.file, one.line, 1}});
}

constexpr std::array kSaysThatOneIsARank = {"RANK", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                            "SLURM_STEP_NUM_TASKS"};

constexpr std::array kOfMeetings = {"nnodes",     "node-rank",  "master-addr",  "master-port",
                                    "rendezvous", "token-file", "nodes-timeout"};

// Fills in the options that the command line leaves open.
void complete(settings::RunOptions& wishes, const settings::Settings& settings) {
  for (const std::string name : kOfMeetings) {
    const auto setting = settings.find(name);
    if (setting == settings.end() || wishes.given.contains(name)) continue;
    const settings::Option& option = *settings::find_run_option(name);
    if (!settings::refuse_value(option, setting->second.value))
      option.put.write(option, &wishes, setting->second.value);
  }
}

}  // namespace

bool spawns_by_itself(job::Launcher launcher) {
  return launcher == job::Launcher::torchrun || launcher == job::Launcher::deepspeed ||
         launcher == job::Launcher::accelerate;
}

// Only the driver knows which GPUs can be used. It is asked only if the number of workers depends
// on it: libcuda too, where neither NVML nor a device tells.
job::HostCounts host_counts(const RunPlan& plan) {
  const host::HostIdentity host = host::read_identity();
  job::HostCounts counts{host.gpu_devices, std::max(1, static_cast<int>(host.cpus.size())), {}};
  const std::string& workers = plan.options.nproc_per_node;
  const bool by_number =
      !workers.empty() && workers.find_first_not_of("0123456789") == std::string::npos;
  if (by_number && plan.options.devices.empty()) return counts;
  const gpu::Facts facts = gpu::read_gpu_facts({plan.environment, gpu::kGpuDeadline});
  if (facts.trouble == gpu::Trouble::none)
    counts.usable = gpu::usable_devices(facts, plan.environment);
  else if (facts.trouble == gpu::Trouble::no_driver && counts.gpus == 0)
    counts.gpus = static_cast<int>(gpu::find_visible_gpus(plan.environment).names.size());
  return counts;
}

job::PortPolicy RunPlan::port_policy() const {
  if (spawn) return job::port_policy(*spawn);
  const job::PortPolicy policy = job::port_policy(command);
  const std::string host = job::master_host(command);
  const bool elsewhere = !host.empty() && !host::is_this_host(host);
  return elsewhere && policy != job::PortPolicy::nothing ? job::PortPolicy::multi_node : policy;
}

bool RunPlan::others_start_ranks() const {
  if (spawn) return spawn->nodes > 1;
  if (command.among_nodes) return true;
  if (command.descendants != job::Descendants::some) return false;
  if (command.launcher != job::Launcher::opaque) return true;
  // Below mpirun not all ranks are ours to see, but it starts them all, unless we are its rank.
  return std::ranges::any_of(kSaysThatOneIsARank,
                             [&](const char* name) { return environment.contains(name); });
}

profile::AppliedEnvironment RunPlan::environment_under(const profile::Profile& profile) const {
  return profile::apply_profile(profile, environment, configuration.rules.variables, overrides);
}

int RunPlan::nodes() const {
  if (spawn) return spawn->nodes;
  return command.nodes ? command.nodes->max : 1;
}

Result<RunPlan> make_plan(settings::RunOptions options, Configuration configuration,
                          const Environment& environment) {
  RunPlan plan;
  plan.environment = environment;
  plan.options = std::move(options);
  if (const Result<void> fit = refuse_contradiction(plan.options); !fit) return fit.error();
  Result<std::vector<std::string>> command = spelled_out(
      {std::move(plan.options.command), plan.options.module, wants_own_workers(plan.options)},
      environment);
  if (!command) return command.error();
  command = behind_wrapper(*std::move(command), environment);
  if (!command) return command.error();
  plan.options.command = *std::move(command);
  plan.command = job::recognise(plan.options.command, environment);
  plan.configuration = std::move(configuration);
  plan.warnings = plan.configuration.warnings;
  if (!plan.configuration.unasked.empty())
    plan.settings_from_here = profile::first_telling(environment, plan.configuration.unasked);
  Result<profile::Overrides> overrides =
      profile::parse_overrides(plan.options.set, plan.options.unset);
  if (!overrides) return overrides.error();
  plan.overrides = std::move(*overrides);
  if (const Result<void> spawn = plan_own_spawn(plan); !spawn) return spawn.error();
  if (const Result<void> ranks = refuse_ranks_that_are_not(plan); !ranks) return ranks.error();
  if (const Result<void> party = plan_party(plan); !party) return party.error();
  take_deepspeed_variables(plan);
  if (const Result<void> chain = load_chain(plan); !chain) return chain.error();
  if (const Result<void> time = refuse_to_kill_at_no_time(plan); !time) return time.error();
  if (const Result<void> able = refuse_to_resume(plan); !able) return able.error();
  warn_of_variables(plan);
  warn_of_options(plan);
  return plan;
}

Result<std::optional<PartyPlan>> plan_meeting(settings::RunOptions wishes,
                                              const Configuration& configuration,
                                              const Environment& environment,
                                              const std::string& purpose) {
  RunPlan plan;
  plan.environment = environment;
  plan.options = std::move(wishes);
  complete(plan.options, configuration.settings);
  plan.options.nproc_per_node = "1";  // how many ranks meet, is not asked here
  Result<job::SpawnOptions> wanted = spawn_options(plan.options, environment);
  if (!wanted) return wanted.error();
  // A board of its own address needs no other.
  const bool has_address = wanted->master_addr || environment.contains("MASTER_ADDR");
  if (!has_address && !plan.options.rendezvous.empty()) wanted->master_addr = "";
  const Result<job::SpawnPlan> spawn = job::plan_spawn(*wanted, environment, {});
  if (!spawn) return spawn.error();
  if (spawn->nodes < 2) return std::optional<PartyPlan>();
  plan.spawn = *spawn;
  if (const Result<void> party = plan_party(plan); !party) return party.error();
  if (plan.party) plan.party->placement.job += "/" + purpose;
  return std::move(plan.party);
}

redact::Redactor redactor_for(const RunPlan& plan) {
  redact::Redactor redactor;
  redactor.learn(plan.environment);
  const auto learn = [&](const profile::VariableSettings& variables) {
    for (const auto& [variable, setting] : variables) redactor.learn(variable, setting.value);
  };
  learn(plan.overrides.env);
  learn(plan.configuration.rules.variables.env);
  for (const profile::Profile& profile : plan.chain) learn(profile.env);
  redactor.learn(plan.options.command);
  for (const auto& receiver : settings::parse_receivers(plan.options.notify).value())
    if (receiver.form != settings::Receiver::Form::command) redactor.learn_value(receiver.where);
  return redactor;
}

}  // namespace safelaunch::plan
