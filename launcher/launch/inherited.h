#pragma once

#include <csignal>
#include <vector>

namespace safelaunch::launch {

/// What the shell gave us and the job must get unchanged: a program under `nohup` ignores SIGHUP,
/// one that a script starts with `&` ignores SIGINT, and open files beyond stderr may be meant for
/// it (a jobserver, a lock, a socket).
struct Inherited {
  sigset_t mask;         ///< signals that were blocked
  sigset_t ignored;      ///< signals that were ignored
  std::vector<int> fds;  ///< open descriptors from 3 on that survive an exec, in ascending order
};

/// Taken by the first call, which must come before we open or change anything ourselves:
/// `split_guardian` makes it. Also puts /dev/null where stdin, stdout or stderr came closed, so
/// that no socket of ours gets one of these numbers; the job still finds them closed. An ignored
/// SIGCHLD is ignored by the job alone: we wait for our children.
const Inherited& inherited();

}  // namespace safelaunch::launch
