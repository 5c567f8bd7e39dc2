#pragma once

#include <sys/resource.h>

#include <csignal>
#include <vector>

namespace safelaunch::launch {

/// The heritage from the shell that the job must get unchanged: a program under `nohup` ignores
/// SIGHUP, one that a script starts with `&` ignores SIGINT, and open files beyond stderr may be
/// meant for it (a jobserver, a lock, a socket).
struct Inherited {
  sigset_t mask;         ///< the signals that were blocked
  sigset_t ignored;      ///< the signals that were ignored
  std::vector<int> fds;  ///< open descriptors from 3 on that survive an exec, in ascending order
  rlimit descriptors;    ///< how many may be open; node 0 of many nodes raises it for itself
};

/// The first call takes the heritage, and must come before we open or change anything ourselves:
/// `split_guardian` makes it. It also opens /dev/null in place of a closed stdin, stdout or stderr,
/// so that no socket of ours gets one of these numbers; the job still finds them closed. Where
/// SIGCHLD came ignored, only the job goes on ignoring it, since we wait for our children.
const Inherited& inherited();

}  // namespace safelaunch::launch
