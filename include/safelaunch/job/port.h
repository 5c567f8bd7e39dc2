#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// Where ranks meet whom nobody has told another port: torchrun's, deepspeed's and accelerate's
/// own.
inline constexpr int kDefaultMasterPort = 29500;

/// What may be done about the port on which the ranks meet.
enum class PortPolicy {
  nothing,     ///< the launcher finds a free one, or we know of none
  choose,      ///< a fixed default counts, on which any second job collides: choose a free one
  user,        ///< the user named one: take it if it is free, else another unless told to keep it
  multi_node,  ///< ranks that others start must know it: never change it alone
};

[[nodiscard]] PortPolicy port_policy(const Command& command);

/// A command that meets on another port.
struct PortedCommand {
  Command command;          ///< its argv, and all places in it, are the new ones
  Environment environment;  ///< variables to set over the environment of the command
};

/// The same command on this port. It is changed where the launcher reads it, never in the workers'
/// environment alone: torchrun's agent holds the store itself (TORCHELASTIC_USE_AGENT_STORE=True),
/// and workers on another port would wait for nobody. Works for any policy: a torchrun that picks
/// its own port (`nothing`) can be given one too, except with --standalone. A plain command gets it
/// as MASTER_PORT, and only if it had that before.
[[nodiscard]] PortedCommand with_port(Command command, int port);

}  // namespace safelaunch::job
