#pragma once

#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/nccl/version.h"

namespace safelaunch::probe {

/// A text that a probe's process tells is cut to this length: a longer one is no name and no error
/// message but garbage.
inline constexpr std::size_t kLongestText = 2000;

/// The account that a libnccl gives without a driver.
struct NcclSurvey {
  std::optional<nccl::Version> version;
  std::string interface;  ///< "eth0": the interface on which ranks would meet
  std::string address;    ///< the address of that interface
  std::string failure;    ///< why they could not: "Bootstrap : no socket interface found"
};

/// Lets a libnccl make a unique id, for which it chooses an interface. Errors: it cannot be loaded.
[[nodiscard]] Result<NcclSurvey> survey_nccl(const std::string& program, const std::string& file,
                                             const Environment& environment);

}  // namespace safelaunch::probe
