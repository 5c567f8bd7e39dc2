#include "safelaunch/nccl/version.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A version decides how NCCL's log is read: which line is the last one of a rank that waits, and
// which variables the log announces. A text without two numbers is no version, since a guess would
// turn the meaning of a whole log.
namespace safelaunch::nccl {

std::optional<Version> parse_nccl_version(std::string_view text) {
  constexpr int kMostOfOne = 100'000;
  std::array<int, 3> numbers{};
  std::size_t count = 0;
  while (count < numbers.size()) {
    const auto number = take_number(text);
    if (!number || *number < 0 || *number > kMostOfOne) return std::nullopt;
    numbers[count++] = *number;
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  if (count < 2) return std::nullopt;
  return Version{numbers[0], numbers[1], numbers[2]};
}

std::string to_string(const Version& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

bool starts_before_bootstrap(const Version& version) {
  return version >= Version{2, 23, 0};
}

namespace {

// Variables whose value is a word, which NCCL does not announce, or only in some versions. One
// function reads all numbers, and it announces them. NCCL_DEBUG… is read before there is a log.
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
  // Up to 2.22 NCCL_P2P_DISABLE is another way to set NCCL_P2P_LEVEL, and the log shows the latter.
  if (variable == "NCCL_P2P_DISABLE" && !starts_before_bootstrap(version)) return "NCCL_P2P_LEVEL";
  return variable;
}

}  // namespace safelaunch::nccl
