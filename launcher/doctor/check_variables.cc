#include "checks.h"
#include "safelaunch/base/format.h"
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

}  // namespace safelaunch::doctor
