#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::job {

/// A word for a number of processes that depends on the host: one for each device, or for each CPU.
enum class CountWord {
  gpu,
  xpu,
  cpu,
  automatic,  ///< one for each GPU, or for each CPU where there is no GPU
};

/// The number of processes of one node as people write it: a number or a word.
using ProcessCount = std::variant<int, CountWord>;

/// Reads "4", "gpu", "xpu", "cpu" or "auto", the words of torchrun's --nproc-per-node.
[[nodiscard]] Result<ProcessCount> parse_process_count(std::string_view text);

/// "4", "gpu", …: the word that reads back as the same.
[[nodiscard]] std::string to_string(const ProcessCount& count);

/// The program in a command that spawns the workers.
enum class Launcher {
  torchrun,    ///< also `python -m torch.distributed.run` and `.launch`, ft_launcher, dlrover-run
  deepspeed,   ///< also called as `ds` and `python -m deepspeed.launcher.runner`
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

/// The user's own program in a command. All words after it are its arguments.
struct Script {
  std::size_t word = 0;  ///< index in argv
  ScriptKind kind = ScriptKind::file;
  bool operator==(const Script&) const = default;
};

/// The number of nodes of a job; an elastic job may run on any number in the range.
struct NodeRange {
  int min = 1;
  int max = 1;
  bool operator==(const NodeRange&) const = default;
};

/// The share of the job's ranks that become our descendants. Only where all do may safelaunch
/// change anything on which ranks agree (the port above all).
enum class Descendants {
  all,
  some,  ///< we start one node of several, or one rank whose peers others start
  none,  ///< ssh, Slurm or a container engine starts them
};

/// The port is written nowhere: the launcher's default counts.
struct NotWritten {
  bool operator==(const NotWritten&) const = default;
};

/// A piece of one word of argv. The length is 0 where an endpoint's port is missing and ":PORT"
/// belongs at this place.
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

/// A configuration file, which we never edit: an option on the command line overrides it.
struct InFile {
  std::string path;
  bool operator==(const InFile&) const = default;
};

using PortPlace = std::variant<NotWritten, InWord, InVariable, InFile>;

/// The option that tells a launcher its port where none is written yet. Empty where the launcher
/// has none.
struct PortOption {
  std::string_view option;        ///< "--master_port"
  std::string_view before_value;  ///< "localhost:" where the value is an endpoint
};

/// The port on which a command's processes meet. It is the ranks' MASTER_PORT, too, except with
/// torchrun's c10d rendezvous: there the agents meet on it, and the ranks meet on a free port that
/// the agents choose.
struct CommandPort {
  PortPlace place;
  /// The port as written; 0 means "any", which only some launchers understand.
  std::optional<int> value;
  PortOption option;
  /// The text in the port's place is no number from 0 to 65535. The launcher refuses it in its own
  /// words.
  bool mistyped = false;
  /// A command without a launcher whose variables speak of other hosts: its ranks meet elsewhere,
  /// or this is one node of several.
  bool other_hosts = false;
};

enum class Warning {
  port_after_script,  ///< the port option stands behind the script, so the launcher does not get it
  port_zero,          ///< each rank would take another port, or connect to port 0
  one_process_on_cpu,  ///< accelerate runs one process whatever --num_processes says
  uneven_processes,    ///< num_processes is no multiple of num_machines
  unreadable_config,   ///< we do not understand the launcher's configuration file or hostfile
  starts_elsewhere,    ///< the launcher starts ranks on other hosts, where nobody watches them
  unknown_option,      ///< an unknown option hides from us where the script begins
};

/// A mistake in the command that is worth a word before it costs an hour.
struct CommandWarning {
  Warning id;
  std::string text;  ///< for the user: the mistake, and the right words
};

/// A command that was taken apart, as far as its words, the environment and a few files tell. A
/// plain value.
struct Command {
  std::vector<std::string> argv;
  Launcher launcher = Launcher::opaque;

  /// Index of the launcher's last own word ("torchrun", "launch", "torch.distributed.run"): its
  /// options begin after it. For `python` and `opaque` the program's index.
  std::size_t launcher_word = 0;
  std::optional<Script> script;

  std::optional<NodeRange> nodes;  ///< the number of nodes; nullopt: not known
  /// The number that the command asks for; a launcher may start fewer. nullopt: not known.
  std::optional<ProcessCount> processes_per_node;
  Descendants descendants = Descendants::all;
  bool is_server = false;  ///< of models (vLLM's, SGLang's)
  /// It tells that it answers requests: its start is over once it does.
  bool serves = false;
  bool among_nodes = false;  ///< a server that is one of several nodes by its own arguments

  CommandPort port;
  std::string rendezvous;   ///< torchrun's backend: "static", "c10d", "etcd-v2", …; else empty
  bool standalone = false;  ///< torchrun looks for a free port by itself
  /// Where the nodes meet and which of them this is, by the launcher's option ("--node-rank"):
  /// from its options, its variables (PET_NODE_RANK) and its configuration file.
  std::map<std::string, std::string, std::less<>> meeting;
  /// Torchrun's own restarts: where it has some, it looks after a dead rank itself.
  int max_restarts = 0;
  /// The seconds that torchrun gives its workers to end before it kills them; nullopt: the command
  /// does not say.
  std::optional<int> shutdown_timeout;
  /// The user's own --tee, --redirects or --log-dir say where torchrun keeps the ranks' output.
  bool keeps_rank_logs = false;
  std::string rank_logs;    ///< the launcher's --log-dir; empty: a folder that the launcher chooses
  bool autotuning = false;  ///< deepspeed starts many jobs in one call: never relaunch it
  /// Deepspeed's --include or --exclude names the devices: beside these it refuses --num_gpus.
  bool names_devices = false;

  /// The Python that runs the script, as a word that exec understands; nullopt where only the
  /// launcher knows (uv run, conda run, no readable shebang).
  std::optional<std::string> python;
  std::vector<CommandWarning> warnings;
};

/// A path, and what it leads to: nothing, a text, or something that is not read, such as a pipe
/// whose bytes the launcher needs.
struct FileAt {
  bool exists = false;
  std::optional<std::string> text;
};
using FileReader = std::function<FileAt(const std::string& path)>;

/// Takes a command apart. At most it reads the accelerate configuration, deepspeed's hostfile, and
/// the first lines of the launcher's own script (for its Python). It never fails: a command that it
/// does not recognise is opaque.
[[nodiscard]] Command recognise(std::vector<std::string> argv, const Environment& environment,
                                const FileReader& read_file);
/// As above, with the host's own files; a pipe among them is left to the command.
[[nodiscard]] Command recognise(std::vector<std::string> argv, const Environment& environment);

/// The value of the first of `names` among the launcher's options; empty if none is there. See
/// Command::meeting. Where the launcher or its options are not known, the last word counts that is
/// written as "--name value" or "--name=value". `names` are written with dashes: launchers take '-'
/// and '_' for the same.
[[nodiscard]] std::string launcher_option(const Command& command,
                                          std::initializer_list<std::string_view> names);

/// The host at which torchrun's agents or the ranks meet, by the launcher's options; empty: they
/// name none. torchrun reads its endpoint before --master-addr.
[[nodiscard]] std::string master_host(const Command& command);

/// The command with so many processes on each node, whatever its own words say: launchers take the
/// last of several options, so one more is put before the script. Fails where the launcher has no
/// such option or we do not know where its script begins.
[[nodiscard]] Result<Command> with_processes(Command command, int processes_per_node);

/// The command whose launcher keeps the output of each rank in a file below this folder, and shows
/// it all the same, with the local rank before each line. Left as it is where the user's own
/// options say where. Fails where the launcher cannot do both.
[[nodiscard]] Result<Command> with_rank_logs(Command command, const std::string& folder);

}  // namespace safelaunch::job
