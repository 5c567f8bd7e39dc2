#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// The default port on which ranks meet, with torchrun, deepspeed and accelerate alike.
inline constexpr int kDefaultMasterPort = 29500;

/// The freedom that we have with the port on which the ranks meet.
enum class PortPolicy {
  nothing,   ///< leave it alone: the launcher finds a free port, or refuses the one that is written
  choose,    ///< choose a free one: any second job collides on the fixed default
  if_taken,  ///< keep it until an attempt has found it taken: others may start ranks that know it
  user,  ///< the user named a port: take it if it is free, else another one unless told to keep it
  multi_node,  ///< never change it alone: ranks that others start must know it
};

[[nodiscard]] PortPolicy port_policy(const Command& command);

/// Whether with_port() finds a place for the port in this command: an option of its launcher, or a
/// word or variable that holds one already.
[[nodiscard]] bool takes_port(const Command& command);

/// A command that meets on another port.
struct PortedCommand {
  Command command;          ///< its argv, and all places in it, are the new ones
  Environment environment;  ///< variables to set over the environment of the command
};

/// Puts the command on this port. The change is made at the place where the launcher reads the
/// port, never in the workers' environment alone: torchrun's agent holds the store itself
/// (TORCHELASTIC_USE_AGENT_STORE=True), and workers on another port would wait for nobody. It works
/// for any policy: a torchrun that picks its own port (`nothing`) can be given one too, except with
/// --standalone. A plain command gets the port as MASTER_PORT, and only if it had that variable
/// before.
[[nodiscard]] PortedCommand with_port(Command command, int port);

}  // namespace safelaunch::job
