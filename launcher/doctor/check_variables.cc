#include <array>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/variables.h"

// Every variable of the environment, and of the files that NCCL and DeepSpeed read by themselves,
// is looked up in the table of profile/variables.h. These are notes: a setting may be meant.
namespace safelaunch::doctor {
namespace {

constexpr const char* kVariableCause = "variable";

/// Tells of settings that do nothing, or not what their author hoped for.
void check_environment(const HostFacts& facts, Advices& advices) {
  for (const auto& [name, value] : facts.subject.environment)
    if (const auto warning = profile::warning_for(name, value))
      advise(advices, Severity::note, kVariableCause, *warning, "safelaunch explain " + name);
}

bool counts(const host::FileVariable& variable, const Environment& environment) {
  return variable.name.starts_with("NCCL_") && !environment.contains(variable.name);
}

/// Tells what NCCL's own files set: nobody remembers them, and their values win over NCCL's own
/// choice.
void check_files(const HostFacts& facts, Advices& advices) {
  for (const host::FileVariable& one : facts.nccl_files) {
    if (!counts(one, facts.subject.environment)) continue;
    const auto warning = profile::warning_for(one.name, one.value);
    advise(advices, Severity::note, kVariableCause,
           fmt::format("{}:{} sets {}={} for every job with NCCL{}", one.file, one.line, one.name,
                       one.value, warning ? "; " + *warning : ""),
           "safelaunch explain " + one.name);
  }
  for (const host::FileVariable& one : facts.deepspeed_files)
    if (counts(one, facts.subject.environment))
      advise(advices, Severity::note, kVariableCause,
             fmt::format("{}:{} sets {}={} on the nodes that deepspeed reaches by ssh", one.file,
                         one.line, one.name, one.value),
             "safelaunch explain " + one.name);
}

}  // namespace

void check_variables(const HostFacts& facts, Advices& advices) {
  check_environment(facts, advices);
  check_files(facts, advices);
}

// A rank's variables must describe one world without a contradiction: all of them set, each a
// number, each rank below its size. Variables that a launcher will set anew are not looked at
// (makes_its_ranks).

namespace {

using std::string_view_literals::operator""sv;

/// init_process_group and its like need these and refuse to guess them.
constexpr std::array kNeeded{"RANK"sv, "WORLD_SIZE"sv, "MASTER_ADDR"sv, "MASTER_PORT"sv};
constexpr std::array kNumbers{"RANK"sv,       "WORLD_SIZE"sv,       "LOCAL_RANK"sv,
                              "NODE_RANK"sv,  "LOCAL_WORLD_SIZE"sv, "GROUP_RANK"sv,
                              "MASTER_PORT"sv};

std::string shown(const Environment& environment, std::string_view name) {
  return fmt::format("{}={}", name, value_or(environment, name));
}

bool check_numbers(const Environment& environment, Advices& advices) {
  bool all = true;
  for (const auto name : kNumbers) {
    if (!environment.contains(name) || is_number(value_or(environment, name))) continue;
    all = false;
    advise(advices, Severity::blocks, cause::kWorldVariables,
           shown(environment, name) + " is no number",
           fmt::format("export {}=N, or unset it", name));
  }
  return all;
}

/// Finds half a description of a world. With an address it is meant for a distributed job, which
/// cannot start; a lone RANK may be left over from something else.
void check_whole(const Environment& environment, Advices& advices) {
  std::vector<std::string_view> names;
  for (const auto name : kNeeded)
    if (!environment.contains(name)) names.push_back(name);
  if (names.empty()) return;
  const std::string missing = join(names, ", ");
  const bool meant = environment.contains("MASTER_ADDR");
  advise(advices, meant ? Severity::blocks : Severity::risk, cause::kWorldVariables,
         fmt::format("{} is set, but not {}", shown(environment, "RANK"), missing),
         fmt::format("export {} too, or unset RANK; torchrun sets them all", missing));
}

void check_range(std::optional<int> rank, std::optional<int> size, std::string_view rank_name,
                 std::string_view size_name, Advices& advices) {
  if (!rank || !size || *rank < *size) return;
  advise(
      advices, Severity::blocks, cause::kWorldVariables,
      fmt::format("{}={}, and {}={} means 0 to {}", rank_name, *rank, size_name, *size, *size - 1),
      fmt::format("give each rank its own number below {}", size_name));
}

void check_local(const World& world, Advices& advices) {
  if (!world.local_size || !world.size || *world.local_size <= *world.size) return;
  advise(advices, Severity::blocks, cause::kWorldVariables,
         fmt::format("LOCAL_WORLD_SIZE={} is larger than WORLD_SIZE={}", *world.local_size,
                     *world.size),
         "WORLD_SIZE counts the ranks of all nodes");
}

/// Finds half a Slurm job: JAX takes it to be whole or not there at all.
void check_slurm(const HostFacts& facts, Advices& advices) {
  const Environment& environment = facts.subject.environment;
  if (!facts.imports_jax || !environment.contains("SLURM_JOB_ID")) return;
  for (const auto name :
       {"SLURM_STEP_NODELIST"sv, "SLURM_NTASKS"sv, "SLURM_PROCID"sv, "SLURM_LOCALID"sv}) {
    if (environment.contains(name)) continue;
    return advise(advices, Severity::risk, cause::kSlurmHalf,
                  fmt::format("{}, and {} is not set: this shell is no task of the job",
                              shown(environment, "SLURM_JOB_ID"), name),
                  "start with srun, or unset SLURM_JOB_ID");
  }
}

}  // namespace

void check_world(const HostFacts& facts, Advices& advices) {
  check_slurm(facts, advices);
  const Environment& environment = facts.subject.environment;
  if (makes_its_ranks(facts.subject) || !environment.contains("RANK")) return;
  if (!check_numbers(environment, advices)) return;
  check_whole(environment, advices);
  check_range(facts.world.rank, facts.world.size, "RANK", "WORLD_SIZE", advices);
  check_range(facts.world.local_rank, facts.world.local_size, "LOCAL_RANK", "LOCAL_WORLD_SIZE",
              advices);
  check_local(facts.world, advices);
}

}  // namespace safelaunch::doctor
