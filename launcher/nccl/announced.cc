#include "safelaunch/nccl/announced.h"

#include <algorithm>
#include <array>

namespace safelaunch::nccl {
namespace {

// Numbers are announced by the one function that reads them; these are words, and are not, or only
// in some versions. NCCL_DEBUG… is read before there is a log.
constexpr std::array<std::string_view, 13> kReadSilently{"NCCL_NET",
                                                         "NCCL_NET_PLUGIN",
                                                         "NCCL_PROFILER_PLUGIN",
                                                         "NCCL_TUNER_PLUGIN",
                                                         "NCCL_ENV_PLUGIN",
                                                         "NCCL_IB_HCA",
                                                         "NCCL_RAS_ADDR",
                                                         "NCCL_SOCKET_MAGIC",
                                                         "NCCL_OOB_NET_IFNAME",
                                                         "NCCL_NET_MERGE_LEVEL",
                                                         "NCCL_NET_FORCE_MERGE",
                                                         "NCCL_PROXY_CPUSET",
                                                         "NCCL_SYM_KERNEL"};

}  // namespace

std::string_view announced_as(std::string_view variable, const Version& version) {
  if (variable.starts_with("NCCL_DEBUG")) return {};
  if (std::ranges::find(kReadSilently, variable) != kReadSilently.end()) return {};
  // Up to 2.22 the one is another way to set the other, and the other is what the log shows.
  if (variable == "NCCL_P2P_DISABLE" && !starts_before_bootstrap(version)) return "NCCL_P2P_LEVEL";
  return variable;
}

}  // namespace safelaunch::nccl
