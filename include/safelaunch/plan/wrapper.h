#pragma once

#include <optional>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

/// Wrappers: an administrator puts a script named torchrun into PATH that starts `safelaunch
/// torchrun`, so that everybody's jobs are watched.
namespace safelaunch::plan {

/// Whether a script starts safelaunch: a line of it, but for comments, names that program.
[[nodiscard]] bool starts_safelaunch(std::string_view script);

/// The command with the launcher behind such a wrapper: where its first word is the bare name of a
/// launcher, and PATH leads to a script that starts safelaunch again, the word becomes the next
/// program of that name in PATH. Without one, a script that says its own name behind safelaunch is
/// an error (os), since it would go on for ever; any other is the command.
[[nodiscard]] Result<std::vector<std::string>> behind_wrapper(std::vector<std::string> command,
                                                              const Environment& environment);

/// A script that safelaunches have started one below the other, each directly below the last.
struct Entered {
  int times = 0;
  int by = 0;  ///< the pid of the safelaunch that started it last
  std::string script;
  bool operator==(const Entered&) const = default;
};

/// The text of the variable in which a safelaunch tells the next of a script, and its reader.
[[nodiscard]] std::string to_text(const Entered& entered);
[[nodiscard]] std::optional<Entered> parse_entered(std::string_view text);

/// Marks in the environment of a command that is about to start that it is a script, which may be a
/// wrapper. Error (os): the safelaunch that started us, and the one before it, have started this
/// very script, so it would go on for ever. A script that a rank starts counts anew.
[[nodiscard]] Result<void> enter(const std::vector<std::string>& command, Environment& environment);

}  // namespace safelaunch::plan
