#pragma once

#include "verbs.h"

/// The help of verbs and options, made from their tables.
namespace safelaunch::cli {

/// "-p,--profile NAME|FILE".
[[nodiscard]] std::string spelling(const settings::Option& option);

/// `safelaunch VERB --help`.
[[nodiscard]] std::string help_of(const Verb& verb);

/// `safelaunch help WORD`. Error (usage): no verb is called so.
[[nodiscard]] Result<std::string> help_about(std::string_view word);

/// `safelaunch help`, `safelaunch -h` and `safelaunch` alone: one screen.
[[nodiscard]] std::string short_help();

/// `safelaunch --help`.
[[nodiscard]] std::string general_help();

/// The shells for which completions are written, as the words of a choice.
inline constexpr std::string_view kShells = "bash|zsh|fish";

/// A script that makes the shell complete safelaunch's verbs, options and their values; empty where
/// the shell is none of kShells.
[[nodiscard]] std::string completions(std::string_view shell);

/// The script for the one shell among these words. Error (usage): there is none, or more.
[[nodiscard]] Result<std::string> completions_for(std::span<const std::string> words);

/// safelaunch(1), for `man`.
[[nodiscard]] std::string manual_page();

/// The meaning of an exit status: "124", "the job hung, …".
struct StatusRow {
  std::string_view status;
  std::string_view meaning;
};

/// The exit statuses, as the man page and docs/options.md list them.
[[nodiscard]] std::span<const StatusRow> exit_statuses();

}  // namespace safelaunch::cli
