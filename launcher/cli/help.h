#pragma once

#include <span>
#include <string>
#include <string_view>

#include "verbs.h"

/// What is told of verbs and options; all of it is made from their tables.
namespace safelaunch::cli {

/// "-p,--profile NAME|FILE".
[[nodiscard]] std::string spelling(const settings::Option& option);

/// `safelaunch VERB --help`.
[[nodiscard]] std::string help_of(const Verb& verb);

/// `safelaunch --help`.
[[nodiscard]] std::string general_help();

/// The README's table of `run`'s options.
[[nodiscard]] std::string options_as_markdown();

}  // namespace safelaunch::cli
