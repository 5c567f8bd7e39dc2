#pragma once

#include <functional>
#include <span>
#include <string>

#include "safelaunch/base/result.h"
#include "safelaunch/settings/run_options.h"
#include "safelaunch/settings/settings.h"

namespace safelaunch::cli {

/// The environment and the configuration file give values to options that the command line leaves
/// open. `config_file` and `cluster` are the values of --config and --cluster, or empty.
using OptionDefaults = std::function<Result<settings::Settings>(const std::string& config_file,
                                                                const std::string& cluster)>;

/// Reads the words behind `safelaunch run` (or `safelaunch`). The command line beats the defaults,
/// which beat what is built in. Errors (Errc::usage) name the wrong word and the nearest right one.
[[nodiscard]] Result<settings::RunOptions> parse_run_options(std::span<const std::string> words,
                                                             const OptionDefaults& defaults);

}  // namespace safelaunch::cli
