#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/run/options.h"

namespace safelaunch {

/// The value that the configuration file gives to an option ("init-timeout"), if any. The file is
/// named by --config, or empty to look at the usual places.
using OptionDefaults = std::function<Result<std::optional<std::string>>(
    const std::string& config_file, std::string_view option)>;

/// Where the command begins among the words behind `safelaunch run`: behind `--`, else at the first
/// word that is neither an option of ours nor an option's value.
[[nodiscard]] Result<std::size_t> command_begin(std::span<const std::string> words);

/// Reads the words behind `safelaunch run` (or `safelaunch`). Order of precedence: option,
/// environment, configuration file, built-in. Errors (Errc::usage) name the wrong word and the
/// nearest right one.
[[nodiscard]] Result<RunOptions> parse_run_options(std::span<const std::string> words,
                                                   const Environment& environment,
                                                   const OptionDefaults& defaults);

/// The help text of `safelaunch run`.
[[nodiscard]] std::string run_help();

}  // namespace safelaunch
