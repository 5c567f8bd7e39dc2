#pragma once

#include <map>

#include "safelaunch/base/result.h"
#include "safelaunch/clean/port_lease.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/host/sockets.h"
#include "safelaunch/plan/plan.h"

namespace safelaunch::plan {

/// The port of a job of one node, and the words that are to be said of it.
struct PortChoice {
  /// The leased port; none: the launcher finds one by itself, or others know it.
  std::optional<clean::PortLease> lease{};
  /// The command's own port, which is neither held nor changed until it was found taken.
  std::optional<int> kept{};
  std::string notice{};  ///< "port 29500 is held by pid 71 …; the job uses 23456"
};

/// Whether the former port turned out to be taken.
enum class FormerPort { none, was_taken };

/// Whether the agents of a job of several nodes tell each other the port.
enum class Agents { agree, are_apart };

/// Chooses and leases the port as `--port`, or the profile's, and the command want it.
/// Errc::blocked where the user pinned a port that somebody holds; the message names the holder.
[[nodiscard]] Result<PortChoice> choose_port(const RunPlan& plan, const profile::Profile& profile,
                                             FormerPort former, Agents agents = Agents::agree);

/// The holders of the ports on which an attempt failed or hung, as confirmations of the causes
/// port-taken and store-foreign. Ask once nothing of the attempt lives any more: a process that
/// holds a port then is not of the job. `knocking` has the stores ("host:port") that ranks could
/// not get into; those on other hosts are left out.
[[nodiscard]] std::vector<diagnose::Confirmation> port_facts(
    const diagnose::Evidence& evidence, const std::map<Rank, std::string>& knocking,
    const diagnose::Catalogue& catalogue, const host::SocketTable& sockets);

}  // namespace safelaunch::plan
