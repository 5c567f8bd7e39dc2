#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/job/process_count.h"

namespace safelaunch::job {

/// The program in a command that spawns the workers.
enum class Launcher {
  torchrun,    ///< also `python -m torch.distributed.run` and `.launch`
  deepspeed,   ///< also `ds` and `python -m deepspeed.launcher.runner`
  accelerate,  ///< `accelerate launch`, which runs torchrun, deepspeed or one plain process inside
  python,      ///< a script that is one rank, or that spawns its ranks by itself
  opaque,  ///< a shell script, a binary, mpirun, …: known only by the processes that it starts
};

[[nodiscard]] const char* name(Launcher launcher);

enum class ScriptKind {
  file,     ///< a Python file
  module,   ///< `-m package.module`
  code,     ///< `python -c '…'`
  program,  ///< any executable (`--no-python`)
};

/// The user's own program in a command. The words after it are its arguments and nobody else's.
struct Script {
  std::size_t word = 0;  ///< index in argv
  ScriptKind kind = ScriptKind::file;
  bool operator==(const Script&) const = default;
};

/// How many nodes the job has; an elastic job may run on any number in the range.
struct NodeRange {
  int min = 1;
  int max = 1;
  bool operator==(const NodeRange&) const = default;
};

/// Which of the job's ranks become our descendants. Only where all do may anything that ranks agree
/// on (the port above all) be changed from here.
enum class Descendants {
  all,
  some,  ///< one node of several, or one rank whose peers others start
  none,  ///< ssh, Slurm or a container engine starts them
};

/// Nowhere: the launcher's default counts.
struct NotWritten {
  bool operator==(const NotWritten&) const = default;
};

/// A piece of one word of argv. Where it is an endpoint's missing port the length is 0, and
/// ":PORT" belongs there.
struct InWord {
  std::size_t word = 0;
  std::size_t offset = 0;
  std::size_t length = 0;
  bool operator==(const InWord&) const = default;
};

/// A piece of the value of an environment variable.
struct InVariable {
  std::string variable;
  std::string value;
  std::size_t offset = 0;
  std::size_t length = 0;
  bool operator==(const InVariable&) const = default;
};

/// In a configuration file, which we never edit: an option on the command line overrides it.
struct InFile {
  std::string path;
  bool operator==(const InFile&) const = default;
};

using PortPlace = std::variant<NotWritten, InWord, InVariable, InFile>;

/// The option that tells a launcher its port where none is written yet. Empty where it has none.
struct PortOption {
  std::string_view option;        ///< "--master_port"
  std::string_view before_value;  ///< "localhost:" where the value is an endpoint
};

/// The port on which a command's processes meet. It is the ranks' MASTER_PORT too, but for
/// torchrun's c10d rendezvous: there the agents meet on it, and the ranks on a free port that they
/// agree on.
struct CommandPort {
  PortPlace place;
  std::optional<int> value;  ///< as written; 0 means "any", which only some launchers understand
  PortOption option;
};

enum class Warning {
  port_after_script,   ///< the script gets it, the launcher does not
  port_zero,           ///< each rank would take another port, or connect to port 0
  one_process_on_cpu,  ///< accelerate runs one process whatever --num_processes says
  uneven_processes,    ///< num_processes is no multiple of num_machines
  unreadable_config,   ///< the launcher's configuration file or hostfile makes no sense to us
  unknown_option,      ///< we cannot tell where the script begins
};

/// A mistake in the command that is worth a word before it costs an hour.
struct CommandWarning {
  Warning id;
  std::string text;  ///< for the user: what is wrong, what to write instead
};

/// What a command is, as far as its words, the environment and a few files tell. A plain value.
struct Command {
  std::vector<std::string> argv;
  Launcher launcher = Launcher::opaque;

  /// Index of the launcher's last own word ("torchrun", "launch", "torch.distributed.run"): its
  /// options begin after it. For `python` and `opaque` the program's index.
  std::size_t launcher_word = 0;
  std::optional<Script> script;

  std::optional<NodeRange> nodes;  ///< nullopt: not known
  /// As asked for; a launcher may start fewer. nullopt: not known.
  std::optional<ProcessCount> processes_per_node;
  Descendants descendants = Descendants::all;

  CommandPort port;
  std::string rendezvous;   ///< torchrun's backend: "static", "c10d", "etcd-v2", …; else empty
  bool standalone = false;  ///< torchrun looks for a free port by itself
  int max_restarts = 0;     ///< torchrun's own restarts: above 0, one dead rank is its affair
  /// Seconds that torchrun gives its workers to end before it kills them; nullopt: not told.
  std::optional<int> shutdown_timeout;
  bool autotuning = false;  ///< deepspeed starts many jobs in one call: never relaunch it

  /// The Python that runs the script, as a word that exec would understand; nullopt where only the
  /// launcher knows (uv run, conda run, no readable shebang).
  std::optional<std::string> python;
  std::vector<CommandWarning> warnings;
};

/// The text of a file, or nullopt where it cannot be read.
using FileReader = std::function<std::optional<std::string>(const std::string& path)>;

/// Takes a command apart. Reads at most: the accelerate configuration, deepspeed's hostfile, and
/// the first lines of the launcher's own script (for its Python). Never fails: what cannot be
/// recognised is opaque.
[[nodiscard]] Command recognise(std::vector<std::string> argv, const Environment& environment,
                                const FileReader& read_file);
/// The same with the files that are there; a pipe among them is left to the command.
[[nodiscard]] Command recognise(std::vector<std::string> argv, const Environment& environment);

}  // namespace safelaunch::job
