#pragma once

#include <vector>

#include "safelaunch/host/process_facts.h"

namespace safelaunch::host {

/// Whether the process is one of those that Ray keeps beside a job, as far as its kernel's name and
/// the first words of its command line tell: the raylet, the server of the cluster's state, the
/// agents and monitors. They always have a little to do, and none of them becomes a rank; what they
/// start (a worker, an installation) is none of them.
[[nodiscard]] bool is_ray_daemon(const std::string& comm, const std::vector<std::string>& command);

}  // namespace safelaunch::host
