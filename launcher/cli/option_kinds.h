#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/time.h"

/// The kinds of options that CLI11 does not know by itself. Included by few: CLI11 is slow to
/// compile.
namespace safelaunch::cli {

CLI::Option* add_duration(CLI::App& app, const char* names, std::optional<Duration>& target,
                          const char* help);

CLI::Option* add_number(CLI::App& app, const char* names, std::optional<int>& target, int first,
                        int last, const char* help);

/// Lets the option take these words alone; any other is answered with them, the nearest and
/// `advice`.
CLI::Option* add_words(CLI::Option* option, const std::vector<std::string>& words,
                       std::string_view advice = {});

/// CLI11's table of the options; what stands before it is ours to write.
[[nodiscard]] std::string options_in_words(const CLI::App& app);

/// The nearest option to a word that is none: "; did you mean '--ranks'?", or nothing.
[[nodiscard]] std::string did_you_mean_option(const CLI::App& app, const std::string& word);

}  // namespace safelaunch::cli
