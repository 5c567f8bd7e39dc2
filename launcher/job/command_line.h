#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>

#include "option_walk.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// A value and where it is written.
struct LauncherVariable {
  std::string value;
  PortPlace place;
};

/// The environment that a program will see behind words such as `env -u A B=1`, with the place of
/// each value, since a variable may stand in argv.
class Variables {
 public:
  explicit Variables(const Environment& outer);

  [[nodiscard]] std::optional<LauncherVariable> find(std::string_view name) const;
  /// The value as a number; nullopt where the variable is not set, or its value is no number.
  [[nodiscard]] std::optional<int> number(std::string_view name) const;

  void assign(std::size_t word,
              std::string_view assignment);  ///< sets it by `NAME=VALUE`, a word of argv
  void unset(std::string_view name);
  void clear() { settings_.clear(); }

 private:
  std::map<std::string, LauncherVariable, std::less<>> settings_;
};

/// The input of the recognisers of the single launchers.
struct CommandLine {
  std::span<const std::string> argv;
  const Variables& variables;
  const FileReader& read_file;
  bool elsewhere = false;  ///< a wrapper goes into another directory; read_file sees it from there

  /// The value of an option in argv; nullopt where the option is not there.
  [[nodiscard]] std::optional<LauncherVariable> setting(const OptionWalk& walk,
                                                        std::string_view name) const;
  /// The value of an option without its place; empty where the option is not there.
  [[nodiscard]] std::string text(const OptionWalk& walk, std::string_view name) const;
};

/// Keeps what a setting says of the place where nodes meet, for launcher_option(): `name` is the
/// option's, with underscores. An empty value says nothing.
void keep_meeting(std::string_view name, const std::string& value, Command& command);

/// torchrun, and the launchers that are built on it: they take its options and some of their own.
enum class TorchrunKind { torch, ft_launcher, dlrover };

// Each of these reads the words behind `command.launcher_word` and fills in the command.
void read_torchrun(const CommandLine& line, TorchrunKind kind, Command& command);
void read_deepspeed(const CommandLine& line, Command& command);
void read_accelerate(const CommandLine& line, Command& command);

/// Sets the script, which is the first word that no option took.
void find_script(const CommandLine& line, const OptionWalk& walk, ScriptKind kind,
                 Command& command);

/// The port as a number written at a place ("29501"), or in an endpoint ("host:29501"). A text that
/// is no port is marked as mistyped: the launcher gets it as it stands.
[[nodiscard]] CommandPort port_in(const LauncherVariable& number);
[[nodiscard]] CommandPort port_in_endpoint(const LauncherVariable& endpoint);

/// Whether this program or module starts a server of models with these arguments.
[[nodiscard]] bool is_server(std::string_view name, std::span<const std::string> arguments);

/// Whether a server with these arguments will tell by its hook that it answers.
[[nodiscard]] bool tells_that_it_answers(std::span<const std::string> arguments);

/// Whether a server is one of several nodes by its own arguments: `--nnodes 2`.
[[nodiscard]] bool is_one_of_several_nodes(std::span<const std::string> arguments);

/// Adds the warnings that need the whole command to be known.
void find_mistakes(Command& command);

}  // namespace safelaunch::job
