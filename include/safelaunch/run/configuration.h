#pragma once

#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/options.h"

namespace safelaunch::run {

/// What safelaunch.yaml says for this host, and the SAFELAUNCH_* variables over it.
struct Configuration {
  profile::Rules rules;
  std::string cluster;          ///< the name of the rule that holds here; empty: none
  settings::Settings settings;  ///< run options: environment over cluster rule over file
  std::vector<std::string> warnings;
};

/// Reads the configuration file and picks the cluster rule. `file` and `cluster` are the values of
/// --config and --cluster, or empty.
[[nodiscard]] Result<Configuration> read_configuration(const std::string& file,
                                                       const std::string& cluster,
                                                       const Environment& environment);

}  // namespace safelaunch::run
