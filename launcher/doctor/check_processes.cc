#include <algorithm>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/job/port.h"

namespace safelaunch::doctor {
namespace {

/// The first is the worst: listeners come before those who are only connected.
std::string holder_of(const MeetingPort& port) {
  return describe(port.holders.front());
}

job::PortPolicy policy_of(const Subject& subject) {
  if (subject.spawn) return job::port_policy(*subject.spawn);
  return subject.command ? job::port_policy(*subject.command) : job::PortPolicy::multi_node;
}

/// Rank 0 needs it, and everybody else needs it held.
bool is_master(const HostFacts& facts) {
  if (facts.world.rank) return *facts.world.rank == 0;
  if (facts.world.nodes > 1) return facts.world.node_rank == 0;
  return facts.subject.command.has_value();
}

void check_port(const HostFacts& facts, Advices& advices) {
  if (!facts.port || facts.port->holders.empty() || !is_master(facts)) return;
  const std::string evidence =
      fmt::format("port {} is held by {}", facts.port->port, holder_of(*facts.port));
  switch (policy_of(facts.subject)) {
    case job::PortPolicy::nothing: return;
    case job::PortPolicy::choose:
    case job::PortPolicy::user:
      return advise(advices, Severity::note, cause::kPortTaken, evidence,
                    "safelaunch takes another one by itself, unless told --port keep");
    case job::PortPolicy::multi_node:
      return advise(advices, Severity::blocks, cause::kPortTaken, evidence,
                    "end it, or give all ranks another MASTER_PORT");
  }
}

/// Ports are told with their holder already.
bool holds_a_device(const clean::StaleProcess& stale) {
  return std::ranges::any_of(stale.holds,
                             [](const std::string& held) { return !held.starts_with("port "); });
}

/// Whatever it holds, GPU memory above all, stays held.
void check_unkillable(const clean::StaleProcess& stale, Advices& advices) {
  advise(advices, Severity::risk, cause::kUnkillable, describe(stale),
         fmt::format("cat /proc/{}/stack, as root, shows the call; mostly only a restart of the "
                     "host ends it",
                     stale.process.id.pid));
}

void check_left_over(const HostFacts& facts, Advices& advices) {
  for (const clean::StaleProcess& stale : facts.processes) {
    if (stale.unkillable) {
      check_unkillable(stale, advices);
      continue;
    }
    Advice advice;
    advice.finding.cause = cause::kLeftOverProcess;
    advice.finding.evidence = describe(stale);
    advice.finding.severity =
        stale.claim == clean::Claim::unproven ? Severity::note : Severity::risk;
    switch (stale.claim) {
      case clean::Claim::ours:
        advice.finding.remedy = "safelaunch clean";
        advice.processes = {stale};
        break;
      case clean::Claim::orphan: advice.finding.remedy = "safelaunch clean --policy orphans"; break;
      case clean::Claim::named:  // of files alone
      case clean::Claim::unproven:
        // Else it is a running job, which is in nobody's way.
        if (!holds_a_device(stale) && !stale.launcherless) continue;
        advice.finding.remedy =
            fmt::format("if it is yours and dead: kill {}", stale.process.id.pid);
        break;
    }
    advices.push_back(std::move(advice));
  }
}

const char* cause_of(job::Warning warning) {
  switch (warning) {
    case job::Warning::port_after_script: return cause::kBadArguments;
    case job::Warning::port_zero: return cause::kPortZero;
    case job::Warning::uneven_processes: return cause::kUnevenNodes;
    case job::Warning::unreadable_config:
    case job::Warning::one_process_on_cpu:
    case job::Warning::unknown_option: return "command";
  }
  return "command";
}

/// Mistakes in the command itself; a run tells them in any case.
void check_command(const HostFacts& facts, Advices& advices) {
  if (!facts.subject.command) return;
  for (const job::CommandWarning& warning : facts.subject.command->warnings)
    advise(advices, Severity::risk, cause_of(warning.id), warning.text, {});
}

}  // namespace

void check_processes(const HostFacts& facts, Advices& advices) {
  check_command(facts, advices);
  check_port(facts, advices);
  check_left_over(facts, advices);
}

}  // namespace safelaunch::doctor
