#pragma once

#include <optional>
#include <set>
#include <string>

#include "safelaunch/nccl/version.h"

namespace safelaunch::run {

/// What a job has shown of how it communicates, in all its attempts until now: which profiles can
/// change anything for it follows from that.
struct SeenOfJob {
  std::optional<nccl::Version> nccl{};  ///< which it runs; none: not known
  bool nccl_spoke = false;              ///< some rank came to it, whatever the host shows of GPUs
  std::set<std::string> backends{};     ///< as given to init_process_group; "": torch's own choice
  bool gpu = true;                      ///< whether this host has one
};

/// Whether a variable of NCCL may change anything.
[[nodiscard]] bool may_use_nccl(const SeenOfJob& seen);

/// Whether gloo in place of NCCL may change anything.
[[nodiscard]] bool may_change_to_gloo(const SeenOfJob& seen);

}  // namespace safelaunch::run
