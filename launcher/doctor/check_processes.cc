#include <algorithm>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/job/port.h"

namespace safelaunch {
namespace {

/// The first is the worst: listeners come before those who are only connected.
std::string holder_of(const MeetingPort& port) {
  return describe(port.holders.front());
}

PortPolicy policy_of(const Subject& subject) {
  if (subject.spawn) return port_policy(*subject.spawn);
  return subject.command ? port_policy(*subject.command) : PortPolicy::multi_node;
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
    case PortPolicy::nothing: return;
    case PortPolicy::choose:
    case PortPolicy::user:
      return advise(advices, Severity::note, cause::kPortTaken, evidence,
                    "safelaunch takes another one by itself, unless told --port keep");
    case PortPolicy::multi_node:
      return advise(advices, Severity::blocks, cause::kPortTaken, evidence,
                    "end it, or give all ranks another MASTER_PORT");
  }
}

/// Ports are told with their holder already.
bool holds_a_device(const StaleProcess& stale) {
  return std::ranges::any_of(stale.holds,
                             [](const std::string& held) { return !held.starts_with("port "); });
}

/// Whatever it holds, GPU memory above all, stays held.
void check_unkillable(const StaleProcess& stale, Advices& advices) {
  advise(advices, Severity::risk, cause::kUnkillable, describe(stale),
         fmt::format("cat /proc/{}/stack, as root, shows the call; mostly only a restart of the "
                     "host ends it",
                     stale.process.id.pid));
}

void check_left_over(const HostFacts& facts, Advices& advices) {
  for (const StaleProcess& stale : facts.processes) {
    if (stale.unkillable) {
      check_unkillable(stale, advices);
      continue;
    }
    Advice advice;
    advice.finding.cause = cause::kLeftOverProcess;
    advice.finding.evidence = describe(stale);
    advice.finding.severity = stale.claim == Claim::unproven ? Severity::note : Severity::risk;
    switch (stale.claim) {
      case Claim::ours:
        advice.finding.remedy = "safelaunch clean";
        advice.processes = {stale};
        break;
      case Claim::orphan: advice.finding.remedy = "safelaunch clean --policy orphans"; break;
      case Claim::named:  // of files alone
      case Claim::unproven:
        // Else it is a running job, which is in nobody's way.
        if (!holds_a_device(stale) && !stale.launcherless) continue;
        advice.finding.remedy =
            fmt::format("if it is yours and dead: kill {}", stale.process.id.pid);
        break;
    }
    advices.push_back(std::move(advice));
  }
}

const char* cause_of(Warning warning) {
  switch (warning) {
    case Warning::port_after_script: return cause::kBadArguments;
    case Warning::port_zero: return cause::kPortZero;
    case Warning::uneven_processes: return cause::kUnevenNodes;
    case Warning::unreadable_config:
    case Warning::one_process_on_cpu:
    case Warning::unknown_option: return "command";
  }
  return "command";
}

/// Mistakes in the command itself; a run tells them in any case.
void check_command(const HostFacts& facts, Advices& advices) {
  if (!facts.subject.command) return;
  for (const CommandWarning& warning : facts.subject.command->warnings)
    advise(advices, Severity::risk, cause_of(warning.id), warning.text, {});
}

}  // namespace

void check_processes(const HostFacts& facts, Advices& advices) {
  check_command(facts, advices);
  check_port(facts, advices);
  check_left_over(facts, advices);
}

}  // namespace safelaunch
