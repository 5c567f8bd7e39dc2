#pragma once

#include <functional>
#include <span>

#include "safelaunch/base/finding.h"
#include "safelaunch/base/result.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/report/kept_runs.h"
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

/// The refusal of words that name no command.
[[nodiscard]] Error no_command();

/// Why words behind `safelaunch` are refused that look like a verb of other tools; nullopt: they
/// are a command.
[[nodiscard]] std::optional<Error> taken_for_verb(std::span<const std::string> words);

/// Tail of the error that a command does not exist: the verb or profile that was meant, or what
/// safelaunch has in place of another tool's verb.
[[nodiscard]] std::string hint_for_command(std::string_view word);

/// How many earlier runs are kept, and for how long.
[[nodiscard]] report::KeepLimits keep_limits(const settings::RunOptions& options);

/// The text that `--interactive` shows before a run: the findings, then every profile that can be
/// named here with its number and its cost, those of the chain first and in its order.
[[nodiscard]] std::string profile_menu(std::span<const Finding> findings,
                                       std::span<const profile::Profile> profiles,
                                       std::size_t in_chain);

/// The profile that an answer means: its number or its name; the first where nothing was typed.
/// An error says what was not understood, with the nearest right name.
[[nodiscard]] Result<std::size_t> profile_meant(std::string_view answer,
                                                std::span<const profile::Profile> profiles);

/// Puts a profile in front of the plan's chain; one that is in the chain already moves there.
void begin_with(plan::RunPlan& plan, const profile::Profile& profile);

enum class Wish { run, nothing };

/// Shows the menu on the terminal and asks until the answer is understood; the run then begins with
/// the chosen profile and goes on with the rest of the chain. `q`, or the end of the input, is the
/// wish to run nothing. Errors: there is no terminal to ask on (usage), a profile cannot be read.
[[nodiscard]] Result<Wish> ask_for_profile(plan::RunPlan& plan);

}  // namespace safelaunch::cli
