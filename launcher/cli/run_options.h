#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/profile/options.h"
#include "safelaunch/run/options.h"

namespace safelaunch::cli {

/// What the environment and the configuration file say of the options that the command line leaves
/// open. `config_file` and `cluster` are the values of --config and --cluster, or empty.
using OptionDefaults = std::function<Result<profile::Settings>(const std::string& config_file,
                                                               const std::string& cluster)>;

/// Reads the words behind `safelaunch run` (or `safelaunch`). The command line beats the defaults,
/// which beat what is built in. Errors (Errc::usage) name the wrong word and the nearest right one.
[[nodiscard]] Result<run::RunOptions> parse_run_options(std::span<const std::string> words,
                                                        const OptionDefaults& defaults);

/// The names of all options, without dashes, each once.
[[nodiscard]] std::vector<std::string> run_option_names();

/// The help text of `safelaunch run`.
[[nodiscard]] std::string run_help();

}  // namespace safelaunch::cli
