#pragma once

#include <optional>
#include <string>

#include "safelaunch/base/result.h"
#include "safelaunch/clean/port_lease.h"
#include "safelaunch/run/plan.h"

namespace safelaunch::run {

/// The port of a job of one node, and what is to be said of it.
struct PortChoice {
  std::optional<clean::PortLease>
      lease;           ///< none: the launcher finds one by itself, or other nodes know it
  std::string notice;  ///< "port 29500 is held by pid 71 …; the job uses 23456"
};

/// Whether the former port turned out to be taken.
enum class FormerPort { none, was_taken };

/// Chooses and leases the port as `--port`, or the profile's, and the command want it.
/// Errc::blocked where the user pinned a port that somebody holds; the message names the holder.
[[nodiscard]] Result<PortChoice> choose_port(const RunPlan& plan, const profile::Profile& profile,
                                             FormerPort former);

}  // namespace safelaunch::run
