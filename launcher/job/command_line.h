#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "options.h"
#include "safelaunch/job/command.h"
#include "variables.h"

namespace safelaunch::job {

/// What the recognisers of the single launchers read.
struct CommandLine {
  std::span<const std::string> argv;
  const Variables& variables;
  const FileReader& read_file;

  /// The setting that an option gives in argv, or nullopt.
  [[nodiscard]] std::optional<LauncherVariable> setting(const OptionWalk& walk,
                                                        std::string_view name) const;
};

// Each fills in what follows from the words behind `command.launcher_word`.
void read_torchrun(const CommandLine& line, Command& command);
void read_deepspeed(const CommandLine& line, Command& command);
void read_accelerate(const CommandLine& line, Command& command);

/// Sets the script: the first word that no option took.
void find_script(const CommandLine& line, const OptionWalk& walk, ScriptKind kind,
                 Command& command);

/// The port as a number written at a place ("29501"), or in an endpoint ("host:29501").
[[nodiscard]] CommandPort port_in(const LauncherVariable& number);
[[nodiscard]] CommandPort port_in_endpoint(const LauncherVariable& endpoint);

/// Adds the warnings that need the whole command to be known.
void find_mistakes(Command& command);

/// The words as one would type them in a shell.
[[nodiscard]] std::string shell_line(std::span<const std::string> words);

}  // namespace safelaunch::job
