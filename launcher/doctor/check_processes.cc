#include <algorithm>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/job/port.h"

// The survey of the room clean has said to whom each process belongs. Here its findings become
// advice: a process that holds the port or a GPU of the coming run blocks it or is a risk, one that
// is proven ours can be ended by --fix, and a running job that is in nobody's way is not mentioned.
namespace safelaunch::doctor {
namespace {

/// Describes the first holder: listeners come before sockets that are only connected, so the first
/// is the worst.
std::string holder_of(const MeetingPort& port) {
  return describe(port.holders.front());
}

job::PortPolicy policy_of(const Subject& subject) {
  if (subject.spawn) return job::port_policy(*subject.spawn);
  return subject.command ? job::port_policy(*subject.command) : job::PortPolicy::multi_node;
}

/// True for rank 0, and for a launcher of the first node. Rank 0 needs the port free; everybody
/// else needs rank 0 to hold it.
bool is_master(const HostFacts& facts) {
  if (facts.world.rank) return *facts.world.rank == 0;
  if (facts.world.nodes > 1) return facts.world.node_rank == 0;
  return facts.subject.command && !facts.subject.command->port.other_hosts;
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
    case job::PortPolicy::if_taken:
      return advise(advices, Severity::note, cause::kPortTaken, evidence,
                    "give the job another MASTER_PORT, unless this is another part of it");
    case job::PortPolicy::multi_node:
      return advise(advices, Severity::blocks, cause::kPortTaken, evidence,
                    "end it, or give all ranks another MASTER_PORT");
  }
}

/// True if the process holds a device. Ports do not count here, because their holders are told
/// already.
bool holds_a_device(const clean::StaleProcess& stale) {
  return std::ranges::any_of(stale.holds,
                             [](const std::string& held) { return !held.starts_with("port "); });
}

/// Warns of a process that was killed and does not end: everything that it holds stays held, GPU
/// memory above all.
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
      case clean::Claim::told:   // only `clean --pid` makes this claim
      case clean::Claim::named:  // only files have this claim
      case clean::Claim::unproven:
        // Otherwise it is a running job that is in nobody's way.
        if (!holds_a_device(stale) && !stale.launcherless) continue;
        advice.finding.remedy =
            fmt::format("if it is yours and dead: safelaunch clean --pid {}", stale.process.id.pid);
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
    case job::Warning::starts_elsewhere:
    case job::Warning::unknown_option: return "command";
  }
  return "command";
}

/// Tells what the command names and is not there, and mistakes in the command itself, which a run
/// tells in any case.
void check_command(const HostFacts& facts, Advices& advices) {
  if (!facts.subject.command) return;
  for (const std::string& missing : facts.subject.missing_files)
    advise(advices, Severity::blocks, "command", missing, {});
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
