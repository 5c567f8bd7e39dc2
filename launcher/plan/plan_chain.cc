#include <algorithm>
#include <filesystem>

#include "plan_steps.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/network.h"
#include "safelaunch/probe/tournament.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/variables.h"

// The chain is the user's, else that of a cluster rule or file, else the default. What worked here
// before comes first in the last two. Only the first profile is read at once where the rest cannot
// hold a mistake; those are read when the first has failed.
namespace safelaunch::plan {
namespace {

constexpr const char* kDefaultChain = "the default";

// The chain of the default or of a cluster rule begins with what worked here before, but for a slow
// profile where the user wants none.
void put_first_what_worked(RunPlan& plan, profile::ProfileLibrary& library,
                           std::vector<std::string>& chain) {
  if (plan.options.forget) return;
  const std::string file = profile::memory_file(plan.environment);
  if (file.empty()) return;
  const profile::Memory memory = profile::load_memory(file);
  if (memory.empty()) return;  // the key takes milliseconds
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto worked = profile::recall(memory, host_key(plan), job_of(plan), now);
  const auto found = worked ? std::find(chain.begin(), chain.end(), worked->profile) : chain.end();
  if (found == chain.end() || found == chain.begin()) return;
  const Result<profile::Profile> profile = library.load(*found);
  if (profile && is_too_slow(plan, *profile)) return;
  std::rotate(chain.begin(), found, found + 1);
  plan.warnings.push_back(
      fmt::format("begins with {}, which worked here lately{}; --forget begins with {} again",
                  chain[0], worked->job.empty() ? "" : " for this script", chain[1]));
}

Result<std::vector<std::string>> choose_chain(RunPlan& plan) {
  if (!plan.options.profiles.empty()) {
    plan.chain_origin = "--profile";
    return profile::parse_chain(plan.options.profiles);
  }
  std::vector<std::string> chain = plan.configuration.rules.chain;
  plan.chain_origin = to_string(plan.configuration.rules.chain_place);
  if (chain.empty()) {
    chain = profile::default_chain();
    plan.chain_origin = kDefaultChain;
  }
  return chain;
}

// More processes than GPUs would only fail. A chain of nothing else is the user's own wish.
void drop_rungs_without_gpus(RunPlan& plan, const std::vector<std::string>& named) {
  if (plan.chain_names.size() == named.size()) return;
  const job::HostCounts counts = host_counts(plan);
  const int gpus = counts.usable ? static_cast<int>(counts.usable->size()) : counts.gpus;
  const auto fits = [&](const std::string& name) {
    return gpus == 0 || profile::rung_in(name).processes.value_or(0) <= gpus;
  };
  std::vector<std::string> fitting;
  std::ranges::copy_if(plan.chain_names, std::back_inserter(fitting), fits);
  if (fitting.empty() || fitting.size() == plan.chain_names.size()) return;
  plan.warnings.push_back(
      fmt::format("only {} GPUs are here, so the chain is {}", gpus, join(fitting, ", ")));
  plan.chain_names = std::move(fitting);
}

// How much of the chain is read before the launch. A mistake in a user's file must be told before
// an hour of waiting leads to it; built-in profiles hold none, and most runs need the first alone.
std::size_t read_at_once(const RunPlan& plan, const profile::ProfileLibrary& library) {
  const bool later_will_do = !plan.options.dry_run && library.all_built_in(plan.chain_names);
  return later_will_do ? 1 : plan.chain_names.size();
}

// Reads the chain's first `count` profiles, as far as they are not read yet.
Result<void> read_chain(RunPlan& plan, profile::ProfileLibrary& library, std::size_t count) {
  if (count <= plan.chain.size()) return {};
  const auto unread = std::span(plan.chain_names).first(count).subspan(plan.chain.size());
  Result<std::vector<profile::Profile>> profiles = library.load_chain(unread, plan.chain_origin);
  if (!profiles) return profiles.error();
  for (std::string& warning : library.take_warnings()) plan.warnings.push_back(std::move(warning));
  for (profile::Profile& profile : *profiles) {
    // The profile's other keys still hold, so the run goes on.
    if (const auto unknown = unknown_causes(profile)) plan.warnings.push_back(unknown->message);
    const std::string_view key = left_without_hook(plan, profile);
    if (!key.empty() && plan.chain_origin != kDefaultChain)
      plan.warnings.push_back(
          fmt::format("{} of profile {} does nothing with --no-hook", key, profile.name));
    for (std::string& warning : profile::warnings_for(profile.env))
      plan.warnings.push_back(std::move(warning));
    plan.chain.push_back(std::move(profile));
  }
  return {};
}

}  // namespace

Result<void> load_chain(RunPlan& plan) {
  Result<std::vector<std::string>> names = choose_chain(plan);
  if (!names) return names.error();
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(plan.environment);
  plan.chain_names = library.with_rungs(*names);
  drop_rungs_without_gpus(plan, *names);
  if (plan.options.profiles.empty()) put_first_what_worked(plan, library, plan.chain_names);
  const Result<void> read = read_chain(plan, library, read_at_once(plan, library));
  if (!read) return read;
  const int length = static_cast<int>(plan.chain_names.size());
  plan.max_attempts = plan.options.only ? 1 : plan.options.max_attempts.value_or(length);
  return {};
}

std::optional<Error> unknown_causes(const profile::Profile& profile) {
  const bool shipped = profile.origin.ends_with(profile::kBuiltInMark);
  if (shipped || profile.causes.empty()) return std::nullopt;  // the catalogue costs milliseconds
  std::vector<std::string_view> known;
  for (const diagnose::Cause& cause : diagnose::catalogue().causes()) known.push_back(cause.id);
  return profile::unknown_causes(profile, known);
}

Result<void> read_rest_of_chain(RunPlan& plan) {
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(plan.environment);
  return read_chain(plan, library, plan.chain_names.size());
}

profile::HostKey host_key() {
  profile::HostKey key;
  key.hostname = host::read_hostname();
  key.gpus = host::gpu_models();
  key.driver = user_file_text("/proc/driver/nvidia/version").value_or("");
  return key;
}

std::string job_of(const RunPlan& plan) {
  const job::Command& command = plan.command;
  const std::size_t program = command.script ? command.script->word : command.launcher_word;
  const std::string& word = command.argv.at(program);
  std::error_code unknown;  // of a script in a folder that is gone
  const auto file = std::filesystem::absolute(word, unknown);
  const bool is_file = word.find('/') != std::string::npos || word.ends_with(".py");
  return fmt::format("{} {}", plan.spawn ? "safelaunch" : name(command.launcher),
                     is_file && !unknown ? file.lexically_normal().string() : word);
}

profile::HostKey host_key(const RunPlan& plan) {
  profile::HostKey key = host_key();
  key.python = plan.command.python.value_or("");
  const std::vector<gpu::FoundLibrary> nccl =
      gpu::find_job_libraries(key.python, plan.environment).nccl;
  if (!nccl.empty()) key.nccl = nccl.front().version;
  return key;
}

std::string_view left_without_hook(const RunPlan& plan, const profile::Profile& profile) {
  if (options_under(plan.options, profile).hook) return {};
  if (profile.backend == profile::Backend::gloo) return "backend: gloo";
  if (profile.process_group_timeout) return "process_group_timeout";
  return profile.verify == profile::Verify::inject ? "verify: inject" : "";
}

profile::Cost cost_here(const profile::Profile& profile) {
  if (profile.backend != profile::Backend::gloo) return profile.cost;
  const profile::HostKey host = host_key();
  return host.gpus.empty() && host.driver.empty() ? profile::Cost::none : profile.cost;
}

bool is_too_slow(const RunPlan& plan, const profile::Profile& profile) {
  return plan.options.fail_on_slow && cost_here(profile) == profile::Cost::large;
}

std::string cost_in_words(const profile::Profile& profile) {
  const std::string cost(name(profile.cost));
  return profile.description.empty() ? cost : cost + " (" + profile.description + ")";
}

std::string cost_in_words(const RunPlan& plan, const profile::Profile& profile) {
  if (cost_here(profile) != profile.cost)
    return "none (gloo in place of NCCL; no NVIDIA GPU is here to be slower)";
  const profile::HostKey key = host_key(plan);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto host = probe::load_measured(probe::measured_file(plan.environment, key.hostname));
  const auto measured =
      host ? probe::measured_cost(*host, key, now, plan.chain_names.front(), profile.name)
           : std::nullopt;
  return measured ? *measured : cost_in_words(profile);
}

}  // namespace safelaunch::plan
