#include "rehearsal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include "safelaunch/base/format.h"
#include "safelaunch/base/variable_names.h"
#include "safelaunch/hook/install.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/plugin/plugin.h"
#include "safelaunch/ranks/attempt_place.h"
#include "safelaunch/report/run_directory.h"

// A rehearsal settles each attempt as a run does, with the same functions, and puts a word in the
// place of what a run would make up: its id, its secrets, a free address. A variable's origin is
// told by whoever decided on it, else by the beginning of its name.
namespace safelaunch::run {
namespace {

namespace fs = std::filesystem;

// Stands for words that each run makes up anew.
constexpr std::string_view kRunId = "<run id>";
constexpr std::string_view kRandom = "<random>";
constexpr std::string_view kThisSafelaunch = "<this safelaunch>";
constexpr std::string_view kFreeAddress = "127.0.0.1:<free port>";

fs::path run_folder(const plan::RunPlan& plan) {
  if (plan.options.run_dir.empty()) return report::runs_directory(plan.environment) / kRunId;
  std::error_code none;
  const fs::path named = fs::absolute(plan.options.run_dir, none);
  return fs::exists(named / "job.json", none) ? named / kRunId : named;
}

ranks::HookDoor foreseen_door(const settings::RunOptions& options, const fs::path& cache) {
  ranks::HookDoor door{{}, {}, fmt::format("@safelaunch/hook/{}", kRandom), std::string(kRandom)};
  if (options.hook) door.hook = hook::place_of_hook(cache);
  if (options.plugin) door.plugin = plugin::place_of_plugin(cache);
  return door;
}

// The place that make_place() would make.
ranks::AttemptPlace foreseen_place(const plan::RunPlan& plan, const profile::Profile& profile,
                                   int number) {
  const settings::RunOptions options = plan::options_under(plan.options, profile);
  ranks::AttemptPlace place;
  place.directory = run_folder(plan) / fmt::format("attempt-{}-{}", number, profile.name);
  place.nccl = {place.directory, std::string(kFreeAddress), std::string(kRandom)};
  const fs::path usual = cache_directory(plan.environment);
  if (options.hook || options.plugin)
    place.hook = foreseen_door(options, usual.empty() ? run_folder(plan) : usual);
  if (!ranks::changes_user(plan.command.argv, geteuid()).empty()) {
    place.hook.reset();
    place.nccl.directory.clear();
  }
  return place;
}

struct OwnVariable {
  std::string_view name;
  std::string_view origin;
  bool is_for_the_job = false;  ///< else safelaunch's own business
};

constexpr std::string_view kMark = "marks the processes of the run";
constexpr std::string_view kHook = "the hook (--no-hook)";
constexpr std::string_view kLog = "NCCL's log, into the record";
constexpr std::string_view kAddress = "an address of this job alone";

// By the beginning of a name; the first that fits counts.
constexpr std::array kOwnVariables{
    OwnVariable{kRunIdVariable, kMark},
    OwnVariable{kAttemptVariable, kMark},
    OwnVariable{kOwnerVariable, kMark},
    OwnVariable{kEnteredVariable, kMark},
    OwnVariable{kKeepVariable, "meant for safelaunch itself"},
    OwnVariable{kHookVariable, "the address of hook and plugin"},
    OwnVariable{"SAFELAUNCH_", "tells the hook of the profile"},
    OwnVariable{"PYTHONPATH", kHook},
    OwnVariable{"NCCL_PROFILER_PLUGIN", "the plugin (--no-plugin)"},
    OwnVariable{"NCCL_DEBUG", kLog},
    OwnVariable{"NCCL_RAS_ADDR", kAddress},
    OwnVariable{"NCCL_SOCKET_MAGIC", kAddress},
    OwnVariable{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "--grace", true},
    OwnVariable{"MASTER_PORT", "the job's port", true},
    OwnVariable{"JAX_", "for jax.distributed.initialize", true},
    OwnVariable{"CUDA_VISIBLE_DEVICES", "--devices", true},
};

SetVariable own(std::string_view name, std::optional<std::string> before,
                std::optional<std::string> after) {
  const auto known = std::ranges::find_if(
      kOwnVariables, [&](const OwnVariable& one) { return name.starts_with(one.name); });
  static constexpr OwnVariable kAsTorchrun{"", "as torchrun sets it", true};
  const OwnVariable& one = known == kOwnVariables.end() ? kAsTorchrun : *known;
  return {std::move(before), std::move(after), std::string(one.origin), !one.is_for_the_job};
}

std::optional<std::string> value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : std::optional(found->second);
}

// All that the worker's environment has and the user's has not, or has otherwise.
std::map<std::string, SetVariable> changes(const Environment& users, const Environment& workers,
                                           const std::vector<profile::Difference>& differences) {
  std::map<std::string, SetVariable> result;
  for (const Environment* one : {&users, &workers})
    for (const auto& [name, value] : *one) {
      const auto before = value_of(users, name);
      const auto after = value_of(workers, name);
      if (before != after) result[name] = own(name, before, after);
    }
  for (const profile::Difference& difference : differences) {
    const auto after = value_of(workers, difference.name);
    if (after == difference.after)
      result[difference.name] = {difference.before, after, difference.why};
  }
  return result;
}

// The hook sets this one itself, in Python (_safelaunch_hook/__init__.py).
void add_what_the_hook_sets(const ranks::AttemptPlace& place, RehearsedAttempt& attempt) {
  constexpr const char* kOfJax = "JAX_CPU_COLLECTIVES_IMPLEMENTATION";
  const Environment& environment = attempt.spec.workers.front().environment;
  const bool hooked = place.hook && !place.hook->hook.empty();
  if (hooked && environment.contains(kBackendVariable) && !environment.contains(kOfJax))
    attempt.variables[kOfJax] = {std::nullopt, "gloo", "the hook, in Python"};
}

bool is_alike(const std::vector<WorkerSpec>& workers, const std::string& name) {
  return std::ranges::all_of(workers, [&](const WorkerSpec& worker) {
    return value_of(worker.environment, name) == value_of(workers.front().environment, name);
  });
}

// Moves what differs between the workers to each of them.
void split_by_worker(RehearsedAttempt& attempt) {
  const std::vector<WorkerSpec>& specs = attempt.spec.workers;
  for (const WorkerSpec& spec : specs)
    if (spec.rank) attempt.workers.push_back({*spec.rank, {}});
  std::erase_if(attempt.variables, [&](const auto& variable) {
    if (is_alike(specs, variable.first)) return false;
    for (std::size_t i = 0; i < specs.size(); ++i)
      attempt.workers[i].variables[variable.first] =
          value_of(specs[i].environment, variable.first).value_or("");
    return true;
  });
}

RehearsedAttempt rehearse_attempt(const plan::RunPlan& plan, const profile::Profile& profile,
                                  int number, std::optional<int> port) {
  const ranks::AttemptPlace place = foreseen_place(plan, profile, number);
  RehearsedAttempt attempt;
  attempt.profile = &profile;
  Result<SettledAttempt> settled = settle({.plan = plan,
                                           .profile = profile,
                                           .number = number,
                                           .run_id = std::string(kRunId),
                                           .directory = place.directory,
                                           .port = port,
                                           .hook = place.hook,
                                           .nccl = place.nccl,
                                           .streams = output::inspect_streams()});
  if (!settled) {
    attempt.refusal = settled.error();
    return attempt;
  }
  attempt.spec = std::move(settled->spec);
  attempt.notice = std::move(settled->notice);
  for (WorkerSpec& worker : attempt.spec.workers)
    if (const auto owner = worker.environment.find(kOwnerVariable);
        owner != worker.environment.end())
      owner->second = kThisSafelaunch;
  const WorkerSpec& first = attempt.spec.workers.front();
  attempt.variables = changes(plan.environment, first.environment, settled->differences);
  if (plan.spawn) split_by_worker(attempt);
  add_what_the_hook_sets(place, attempt);
  const auto program = launch::find_program(first.argv.front(), first.environment);
  if (!program) attempt.refusal = program.error();
  return attempt;
}

// One node alone starts nothing a second time, and neither does --only.
int most_attempts(const plan::RunPlan& plan) {
  return plan.others_start_ranks() && !plan.party ? 1 : plan.max_attempts;
}

/// Why the profile would change nothing after the attempts before it; empty: it may.
std::string changes_nothing(const plan::RunPlan& plan, const profile::Profile& profile,
                            std::span<const RehearsedAttempt> before, const plan::SeenOfJob& seen) {
  std::vector<const profile::Profile*> tried;
  for (const RehearsedAttempt& attempt : before)
    if (attempt.passed_over.empty()) tried.push_back(attempt.profile);
  const std::array candidate{&profile};
  const auto struck = plan::same_as_tried(plan, tried, candidate, seen);
  return struck.empty() ? "" : struck.front().why;
}

std::string never_tried(const plan::RunPlan& plan, const profile::Profile& profile) {
  if (plan.options.only) return "--only";
  if (plan.others_start_ranks() && !plan.party) return "others start ranks of this job too";
  if (plan::is_too_slow(plan, profile)) return std::string(plan::kTooSlow);
  if (profile.nodes == profile::Nodes::one && plan.nodes() > 1) return "works on one node only";
  return plan.max_attempts == 1 ? "--max-attempts 1" : "";
}

void take_port(const plan::RunPlan& plan, Rehearsal& rehearsal) {
  const Result<plan::PortChoice> choice =
      plan::choose_port(plan, plan.chain.front(), plan::FormerPort::none);
  if (!choice) {
    rehearsal.port_refusal = choice.error();
    return;
  }
  rehearsal.port_notice = choice->notice;
  if (choice->lease) rehearsal.port = choice->lease->port();
}

}  // namespace

Rehearsal rehearse(const plan::RunPlan& plan, const plan::SeenOfJob& seen) {
  Rehearsal rehearsal;
  rehearsal.max_attempts = most_attempts(plan);
  take_port(plan, rehearsal);
  int number = 1;
  for (const profile::Profile& profile : plan.chain) {
    std::string never = number == 1 ? "" : never_tried(plan, profile);
    if (!never.empty()) {
      rehearsal.left_out.push_back({profile.name, std::move(never)});
    } else if (number > rehearsal.max_attempts) {
      rehearsal.others.push_back(profile.name);
    } else {
      std::string why = changes_nothing(plan, profile, rehearsal.attempts, seen);
      rehearsal.attempts.push_back(rehearse_attempt(plan, profile, number, rehearsal.port));
      number += why.empty() ? 1 : 0;
      rehearsal.attempts.back().passed_over = std::move(why);
    }
  }
  const auto& first = rehearsal.attempts.front().refusal;
  rehearsal.refusal = rehearsal.port_refusal ? rehearsal.port_refusal : first;
  return rehearsal;
}

}  // namespace safelaunch::run
