#pragma once

#include <string>
#include <string_view>

namespace safelaunch::cli {

/// The shells for which completions are written, as the words of a choice.
inline constexpr std::string_view kShells = "bash|zsh|fish";

/// A script that makes the shell complete safelaunch's verbs, options and their values; empty where
/// the shell is none of kShells.
[[nodiscard]] std::string completions(std::string_view shell);

}  // namespace safelaunch::cli
