#include "attempt_spec.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "safelaunch/agree/token.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/variable_names.h"
#include "safelaunch/hook/install.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/job/command.h"
#include "safelaunch/job/worker.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/plugin/plugin.h"

// All that one attempt starts is settled before anything runs: the environment of its processes,
// the command or the workers, the deadlines, and where the output goes. The command line's word
// beats the profile's everywhere. Nothing is started here, so that a mistake is an error, and no
// job is half started.
namespace safelaunch::run {
namespace {

constexpr Duration kOfTorchrun{30'000};
constexpr std::string_view kVariable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";

// torchrun collects the ranks that it has killed, and ends with a status of its own.
constexpr Duration kTorchrunEnds{5'000};

// Nothing where it makes no sense: torchrun refuses it itself.
std::optional<int> seconds_in(std::string_view text) {
  const auto seconds = to_number(text);
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

Duration told_torchrun(const job::Command& command, const Environment& environment) {
  const auto seconds = command.shutdown_timeout ? command.shutdown_timeout
                                                : seconds_in(value_or(environment, kVariable));
  return std::chrono::seconds(seconds.value_or(0));
}

}  // namespace

Grace grace_of(const settings::RunOptions& options, const job::Command& command,
               const Environment& environment) {
  const bool torchrun =
      command.launcher == job::Launcher::torchrun || command.launcher == job::Launcher::accelerate;
  const Duration told = torchrun ? told_torchrun(command, environment) : Duration{};
  const Duration of_ranks = options.grace.value_or(std::max(kOfTorchrun, told));
  return {of_ranks, torchrun ? of_ranks + kTorchrunEnds : of_ranks, options.grace.has_value()};
}

void pass_grace_on(const Grace& grace, Environment& environment) {
  if (grace.of_ranks == kOfTorchrun) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(grace.of_ranks);
  environment.try_emplace(std::string(kVariable), std::to_string(seconds.count()));
}

namespace {

// The kernel's own limit, however large the stack may be.
constexpr std::size_t kMostOfKernel = 6U << 20;
constexpr std::size_t kFirstLine = 4U << 10;  // the program's path, its interpreter and arguments

}  // namespace

std::size_t exec_limit() {
  const long limit = ::sysconf(_SC_ARG_MAX);
  return limit > 0 ? std::min(static_cast<std::size_t>(limit), kMostOfKernel) : kMostOfKernel;
}

bool fits_exec(const std::vector<std::string>& argv, const Environment& environment,
               std::size_t limit) {
  constexpr std::size_t kEach = sizeof(char*) + 1;  // the pointer to a text, and its end
  std::size_t taken = kFirstLine;
  for (const std::string& word : argv) taken += word.size() + kEach;
  for (const auto& [name, value] : environment) taken += name.size() + 1 + value.size() + kEach;
  return taken <= limit;
}

namespace {

watch::StageLimits limits_of(const settings::RunOptions& options,
                             const profile::Timeouts& profile) {
  watch::StageLimits limits;
  limits.init = options.init_timeout.value_or(profile.init);
  limits.collective = options.collective_timeout.value_or(profile.collective);
  limits.quiet = options.quiet_timeout.value_or(profile.quiet);
  limits.work = options.work_timeout.value_or(profile.work);
  limits.stopped = options.stopped_timeout.value_or(limits.stopped);
  return limits;
}

std::optional<int> ranks_of_a_node(const job::Command& command) {
  if (!command.processes_per_node) return std::nullopt;
  const int* processes = std::get_if<int>(&*command.processes_per_node);
  return processes == nullptr ? std::nullopt : std::optional(*processes);
}

std::optional<int> world_size_of(const job::Command& command) {
  const auto processes = ranks_of_a_node(command);
  if (!processes || !command.nodes || command.nodes->min != command.nodes->max) return std::nullopt;
  return *processes * command.nodes->max;
}

watch::DeadRank meaning_of_dead_rank(const plan::RunPlan& plan) {
  if (plan.spawn) return watch::DeadRank::ends_the_job;
  switch (plan.command.launcher) {
    case job::Launcher::torchrun:
    case job::Launcher::accelerate:
      return plan.command.max_restarts > 0 ? watch::DeadRank::is_restarted
                                           : watch::DeadRank::ends_the_job;
    case job::Launcher::deepspeed: return watch::DeadRank::ends_the_job;
    case job::Launcher::python:
    case job::Launcher::opaque: return watch::DeadRank::hangs_the_others;
  }
  return watch::DeadRank::hangs_the_others;
}

// A script may start the next trial where one has failed.
constexpr Duration kScriptReacts = std::chrono::seconds(10);

watch::StagesConfig stages_of(const plan::RunPlan& plan, const profile::Profile& profile) {
  watch::StagesConfig config;
  config.limits = limits_of(plan.options, profile.timeouts);
  config.dead_rank = meaning_of_dead_rank(plan);
  if (config.dead_rank == watch::DeadRank::hangs_the_others) config.limits.reaction = kScriptReacts;
  config.world_size = world_size_of(plan.command);
  config.others_start_ranks = plan.others_start_ranks();
  config.ranks_here = ranks_of_a_node(plan.command);
  return config;
}

// Every process of the job carries the mark of its run and the address of our socket.
void add_marks(const AttemptInputs& inputs, Environment& environment) {
  const int guardian = launch::guardian_pid();
  const auto facts = guardian != 0 ? host::facts_of(guardian) : host::facts_of(host::self().pid);
  // Meant for safelaunch itself, inside another job: a job of which all is kept cannot be ended.
  environment.erase(std::string(kKeepVariable));
  environment.erase(std::string(agree::kTokenVariable));
  environment[std::string(kRunIdVariable)] = inputs.run_id;
  environment[std::string(kAttemptVariable)] = std::to_string(inputs.number);
  environment[std::string(kOwnerVariable)] = host::owner_mark(facts ? facts->id : host::self());
  for (const auto& [name, value] : profile::hook_variables(inputs.profile))
    environment[name] = value;
  if (inputs.hook && !inputs.hook->hook.empty())
    hook::add_hook_to(environment, inputs.hook->hook, inputs.hook->socket, inputs.hook->token);
}

// NCCL loads one profiler only, and the user's own wins; on other hosts ours is not there.
std::string add_plugin(const AttemptInputs& inputs, job::Descendants descendants,
                       Environment& environment) {
  if (!inputs.hook || inputs.hook->plugin.empty() || descendants == job::Descendants::none)
    return {};
  if (const auto users = plugin::users_profiler(environment))
    return fmt::format("NCCL loads {}; safelaunch's own plugin stays away", *users);
  plugin::add_plugin_to(environment, inputs.hook->plugin, inputs.hook->socket, inputs.hook->token);
  return {};
}

Result<job::Command> with_profile_arguments(job::Command command,
                                            const profile::ArgumentChanges& changes,
                                            std::string_view profile) {
  if (changes.append.empty() && changes.replace.empty()) return command;
  if (!command.script)
    return Error{
        Errc::usage,
        fmt::format("profile {} changes the script's arguments, but safelaunch cannot tell "
                    "where the script begins in this command",
                    profile)};
  const auto script = command.argv.begin() + static_cast<std::ptrdiff_t>(command.script->word) + 1;
  const std::vector<std::string> arguments(script, command.argv.end());
  command.argv.erase(script, command.argv.end());
  for (std::string& word : profile::changed_arguments(changes, arguments))
    command.argv.push_back(std::move(word));
  return command;
}

// A command that starts without us starts with us, even if it fills all the room that there is.
void make_room(const Environment& bare, WorkerSpec& worker, std::string& notice) {
  if (fits_exec(worker.argv, worker.environment, exec_limit())) return;
  worker.environment = bare;
  notice =
      "the command's arguments and variables take all the room that the kernel gives; it runs "
      "without safelaunch's variables, so without hook, plugin and the profile's settings";
}

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

Result<void> add_launcher(const AttemptInputs& inputs, Environment environment,
                          SettledAttempt& result) {
  Result<job::Command> command =
      with_profile_arguments(inputs.plan.command, inputs.profile.args, inputs.profile.name);
  if (!command) return command.error();
  if (inputs.profile.processes) {
    command = job::with_processes(std::move(*command), *inputs.profile.processes);
    if (!command)
      return Error{command.error().code,
                   fmt::format("profile {}: {}", inputs.profile.name, command.error().message)};
  }
  if (const std::string& logs = result.spec.rank_logs; !logs.empty()) {
    command = job::with_rank_logs(std::move(*command), logs);
    if (!command) return command.error();
  }
  if (inputs.port) {
    job::PortedCommand ported = job::with_port(std::move(*command), *inputs.port);
    command = std::move(ported.command);
    for (auto& [name, value] : ported.environment) environment[name] = value;
  }
  result.spec.workers.push_back(
      {std::nullopt, std::move(command->argv), std::move(environment), {}});
  make_room(inputs.plan.environment, result.spec.workers.back(), result.notice);
  return {};
}

std::vector<std::vector<int>> cpus_of_workers(settings::CpuBinding binding, int workers) {
  switch (binding) {
    case settings::CpuBinding::none: return job::bind_workers(job::Binding::none, {}, workers);
    case settings::CpuBinding::numa:
      return job::bind_workers(job::Binding::numa, host::read_identity().numa_nodes, workers);
    case settings::CpuBinding::cores:
      return job::bind_workers(job::Binding::cores, host::read_identity().numa_nodes, workers);
  }
  return {};
}

// Nodes may have different numbers of devices, and each knows its own alone.
void lay_out(const agree::Decision& agreed, job::SpawnPlan& spawn) {
  const auto node = static_cast<std::size_t>(spawn.node_rank);
  if (node >= agreed.workers.size()) return;
  const auto first = agreed.workers.begin();
  spawn.workers = agreed.workers[node];
  spawn.start_rank = std::accumulate(first, first + spawn.node_rank, 0);
  spawn.world_size = std::accumulate(first, agreed.workers.end(), 0);
}

// Each node by itself: all have as many, unless the user has said where this one's ranks begin.
void lay_out(int workers, const settings::RunOptions& options, job::SpawnPlan& spawn) {
  spawn.workers = workers;
  spawn.world_size = workers * spawn.nodes;
  if (!options.start_rank) spawn.start_rank = workers * spawn.node_rank;
}

void expect(const job::SpawnPlan& spawn, watch::StagesConfig& stages) {
  stages.world_size = spawn.world_size;
  stages.expected_here.clear();
  for (int local = 0; local < spawn.workers; ++local)
    stages.expected_here.push_back(Rank{spawn.start_rank + local});
}

Result<void> add_workers(const AttemptInputs& inputs, const Environment& environment,
                         SettledAttempt& result) {
  AttemptSpec& spec = result.spec;
  job::SpawnPlan spawn = *inputs.plan.spawn;
  if (inputs.port) spawn.master_port = inputs.port;
  const settings::RunOptions& options = inputs.plan.options;
  if (inputs.agreed && !options.start_rank) lay_out(*inputs.agreed, spawn);
  if (inputs.profile.processes && !inputs.agreed)
    lay_out(*inputs.profile.processes, options, spawn);
  expect(spawn, spec.stages);
  const Result<job::Command> command =
      with_profile_arguments(inputs.plan.command, inputs.profile.args, inputs.profile.name);
  if (!command) return command.error();
  const auto cpus = cpus_of_workers(inputs.plan.options.binding, spawn.workers);
  for (int local = 0; local < spawn.workers; ++local) {
    const job::RunIdentity run{inputs.run_id, inputs.directory.native()};
    const Environment own = job::worker_environment(spawn, local, run, environment);
    spec.workers.push_back({Rank{spawn.start_rank + local}, command->argv, with(environment, own),
                            cpus[static_cast<std::size_t>(local)]});
    make_room(with(inputs.plan.environment, own), spec.workers.back(), result.notice);
  }
  return {};
}

Result<output::OutputPlan> output_of(const AttemptInputs& inputs) {
  const settings::RunOptions& options = inputs.plan.options;
  output::OutputPlan output;
  output.directory = options.log_dir.empty() ? inputs.directory : options.log_dir;
  const Result<output::RankSelection> shown = output::RankSelection::parse(options.ranks);
  if (!shown) return shown.error();
  output.shown = *shown;
  if (inputs.plan.spawn && inputs.plan.spawn->workers > 1)
    output.mode = output::OutputPlan::Mode::lines;
  const bool coloured =
      takes_ink(options.colour, inputs.streams.out.kind == output::StreamTarget::Kind::terminal,
                inputs.plan.environment);
  if (options.prefix)
    output.prefix =
        coloured ? output::OutputPlan::Prefix::coloured_rank : output::OutputPlan::Prefix::rank;
  return output;
}

Result<void> settle_output(const AttemptInputs& inputs, const settings::RunOptions& options,
                           AttemptSpec& spec) {
  Result<output::OutputPlan> output = output_of(inputs);
  if (!output) return output.error();
  spec.output = std::move(*output);
  if (options.rank_files && !inputs.plan.spawn && !spec.output.directory.empty())
    spec.rank_logs = spec.output.directory / "launcher";
  // On several nodes, each node has the same local ranks.
  spec.rank_logs_are_of_ranks = inputs.plan.command.descendants == job::Descendants::all;
  spec.users_rank_logs = inputs.plan.command.rank_logs;
  return {};
}

// Where an agent has found no others, or was told not to look, torchrun's own may still come. Where
// the agents have met, the launchers may not: the leader sees whether any node has started a rank.
int nodes_awaited_by_launcher(const AttemptInputs& inputs) {
  const plan::RunPlan& plan = inputs.plan;
  const bool is_torchrun = plan.command.launcher == job::Launcher::torchrun ||
                           plan.command.launcher == job::Launcher::accelerate;
  const bool waits = !inputs.is_member && is_torchrun && !plan.spawn && plan.command.nodes;
  return waits ? plan.command.nodes->min : 0;
}

AttemptSpec rules_of_watch(const AttemptInputs& inputs) {
  const plan::RunPlan& plan = inputs.plan;
  AttemptSpec spec;
  spec.number = inputs.number;
  spec.profile = inputs.profile.name;
  spec.launcher = plan.command.launcher;
  spec.stages = stages_of(plan, inputs.profile);
  spec.stages.awaited_nodes = nodes_awaited_by_launcher(inputs);
  spec.stages.nodes_have_met = inputs.agreed.has_value();
  spec.stages.is_server = plan.command.is_server;
  // Only a hook says that a server answers.
  spec.stages.serves = plan.command.serves && inputs.hook && !inputs.hook->hook.empty();
  spec.start = plan.options.start_timeout.value_or(inputs.profile.timeouts.start);
  spec.stall = plan.options.stall_timeout.value_or(inputs.profile.timeouts.stall);
  spec.kill_on_stall = inputs.profile.on_stall != profile::OnStall::report && spec.stall.after;
  spec.ras = inputs.profile.ras;
  spec.directory = inputs.directory;
  spec.hook = inputs.hook;
  spec.run = inputs.run_id;
  spec.for_leader = spec.stages.judged_elsewhere = inputs.is_member;
  return spec;
}

// The variables of NCCL that are not the user's own.
std::vector<std::string> set_for_nccl(const std::vector<profile::Difference>& differences) {
  std::vector<std::string> names;
  for (const profile::Difference& one : differences)
    if (one.name.starts_with("NCCL_") && one.after && one.winner != profile::Winner::user)
      names.push_back(one.name);
  return names;
}

Environment settle_environment(const AttemptInputs& inputs, const settings::RunOptions& options,
                               SettledAttempt& result) {
  const plan::RunPlan& plan = inputs.plan;
  AttemptSpec& spec = result.spec;
  profile::AppliedEnvironment applied = plan.environment_under(inputs.profile);
  result.differences = std::move(applied.differences);
  add_marks(inputs, applied.environment);
  // An older torchrun does not read it, and would refuse the option.
  if (inputs.by_loopback) applied.environment.try_emplace("PET_LOCAL_ADDR", "127.0.0.1");
  spec.grace = grace_of(options, plan.command, applied.environment);
  pass_grace_on(spec.grace, applied.environment);
  const job::Descendants descendants =
      plan.spawn ? job::Descendants::all : plan.command.descendants;
  result.notice = add_plugin(inputs, descendants, applied.environment);
  spec.nccl = nccl::listen(inputs.nccl, {descendants, plan.nodes()}, applied.environment);
  spec.nccl.set = set_for_nccl(result.differences);
  return std::move(applied.environment);
}

}  // namespace

Result<SettledAttempt> settle(const AttemptInputs& inputs) {
  const settings::RunOptions options = plan::options_under(inputs.plan.options, inputs.profile);
  SettledAttempt result{.spec = rules_of_watch(inputs), .differences = {}, .notice = {}};
  result.spec.clean = options.clean;
  if (const Result<void> settled = settle_output(inputs, options, result.spec); !settled)
    return settled.error();
  Environment environment = settle_environment(inputs, options, result);
  const Result<void> added = inputs.plan.spawn
                                 ? add_workers(inputs, environment, result)
                                 : add_launcher(inputs, std::move(environment), result);
  if (!added) return added.error();
  return result;
}

}  // namespace safelaunch::run
