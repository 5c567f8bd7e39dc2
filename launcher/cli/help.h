#pragma once

#include <span>
#include <string>
#include <string_view>

#include "verbs.h"

/// The help of verbs and options, made from their tables.
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
