#include "safelaunch/job/command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "command_line.h"
#include "safelaunch/base/endpoint.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "wrappers.h"

/// A command is recognised from the left: wrappers (nice, env, uv run) are stepped over, then the
/// word is looked up among the launchers' names, then it is Python or a program of another kind.
/// The launcher's own recogniser reads the rest.
namespace safelaunch::job {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"gpu", "xpu", "cpu", "auto"};

}  // namespace

Result<ProcessCount> parse_process_count(std::string_view text) {
  if (const auto number = to_number(text); number && *number > 0) return ProcessCount{*number};
  if (const auto it = std::ranges::find(kWords, text); it != kWords.end())
    return ProcessCount{static_cast<CountWord>(it - kWords.begin())};
  return Error{Errc::usage,
               fmt::format("'{}' is no number of processes: write a number above 0, gpu, cpu or "
                           "auto{}",
                           text, did_you_mean(text, kWords))};
}

std::string to_string(const ProcessCount& count) {
  if (const int* number = std::get_if<int>(&count)) return fmt::format("{}", *number);
  return std::string(kWords[static_cast<std::size_t>(std::get<CountWord>(count))]);
}

namespace {

/// A name under which a launcher is called.
struct LauncherName {
  std::string_view name;
  Launcher launcher;
  bool with_subcommand = false;  ///< it launches only as `NAME launch`
  TorchrunKind kind = TorchrunKind::torch;
};

constexpr std::array kProgramNames = {
    LauncherName{"torchrun", Launcher::torchrun},
    LauncherName{"ft_launcher", Launcher::torchrun, false, TorchrunKind::ft_launcher},
    LauncherName{"dlrover-run", Launcher::torchrun, false, TorchrunKind::dlrover},
    LauncherName{"deepspeed", Launcher::deepspeed},
    LauncherName{"deepspeed.pt", Launcher::deepspeed},
    LauncherName{"ds", Launcher::deepspeed},
    LauncherName{"accelerate-launch", Launcher::accelerate},
    LauncherName{"accelerate", Launcher::accelerate, true},
};

constexpr std::array kModuleNames = {
    LauncherName{"torch.distributed.run", Launcher::torchrun},
    LauncherName{"torch.distributed.launch", Launcher::torchrun},
    LauncherName{"nvidia_resiliency_ext.fault_tolerance.launcher", Launcher::torchrun, false,
                 TorchrunKind::ft_launcher},
    LauncherName{"dlrover.trainer.torch.elastic_run", Launcher::torchrun, false,
                 TorchrunKind::dlrover},
    LauncherName{"deepspeed.launcher.runner", Launcher::deepspeed},
    LauncherName{"accelerate.commands.launch", Launcher::accelerate},
    LauncherName{"accelerate.commands.accelerate_cli", Launcher::accelerate, true},
};

/// `python …/site-packages/torch/distributed/run.py`: the launcher's module, called as a file.
constexpr std::array kFileNames = {
    LauncherName{"/torch/distributed/run.py", Launcher::torchrun},
    LauncherName{"/torch/distributed/launch.py", Launcher::torchrun},
    LauncherName{"/deepspeed/launcher/runner.py", Launcher::deepspeed},
    LauncherName{"/accelerate/commands/launch.py", Launcher::accelerate},
    LauncherName{"/accelerate/commands/accelerate_cli.py", Launcher::accelerate, true},
};

/// A program that starts the ranks somewhere else, or some here and some elsewhere.
struct Spreader {
  std::string_view name;
  Descendants descendants;
};

constexpr std::array kSpreaders = {
    Spreader{"srun", Descendants::none},       Spreader{"sbatch", Descendants::none},
    Spreader{"ssh", Descendants::none},        Spreader{"pdsh", Descendants::none},
    Spreader{"docker", Descendants::none},     Spreader{"podman", Descendants::none},
    Spreader{"kubectl", Descendants::none},    Spreader{"mpirun", Descendants::some},
    Spreader{"mpiexec", Descendants::some},    Spreader{"mpiexec.hydra", Descendants::some},
    Spreader{"orterun", Descendants::some},    Spreader{"prun", Descendants::some},
    Spreader{"horovodrun", Descendants::some},
};

// Python's own options, but only those with a value (see Grammar::getopt).
constexpr std::array kPythonOptions = {
    OptionSpec{"-m", Takes::rest, 'm'}, OptionSpec{"-c", Takes::rest, 'c'},
    OptionSpec{"-W", Takes::value, 'W'}, OptionSpec{"-X", Takes::value, 'X'},
    OptionSpec{"check-hash-based-pycs"}};
constexpr OptionTable kPythonTable = {kPythonOptions, Grammar::getopt, Spelling::exact,
                                      Abbreviations::none};

// Where launch scripts and schedulers say how many nodes there are.
constexpr std::array kNodeCounts = {"NNODES", "PET_NNODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"};

class Recogniser {
 public:
  Recogniser(std::vector<std::string> argv, const Environment& environment,
             const FileReader& read_file)
      : variables_(environment), read_file_([this, &read_file](const std::string& path) {
          return read_file(below(directory_, path));
        }) {
    command_.argv = std::move(argv);
  }

  Command recognise() && {
    const Unwrapped unwrapped = unwrap(command_.argv, variables_);
    other_python_ = unwrapped.other_python;
    directory_ = unwrapped.directory;
    const std::size_t program = unwrapped.program;
    if (program >= words().size()) return std::move(command_);
    command_.launcher_word = program;
    if (unwrapped.runs_module)
      module(program);
    else if (is_python(words()[program]))
      python(program);
    else if (other_python_ && words()[program].ends_with(".py"))  // uv runs a script by itself
      file(program);
    else if (!launcher(kProgramNames, base_name(words()[program]), program))
      opaque(program);
    find_mistakes(command_);
    return std::move(command_);
  }

 private:
  std::span<const std::string> words() const { return command_.argv; }
  CommandLine line() const { return {words(), variables_, read_file_, !directory_.empty()}; }

  /// Reads the command as one of the launcher that has this name; false where no launcher has it.
  bool launcher(std::span<const LauncherName> names, std::string_view name, std::size_t word) {
    const auto it = std::ranges::find(names, name, &LauncherName::name);
    if (it == names.end()) return false;
    const bool launches = word + 1 < words().size() && words()[word + 1] == "launch";
    if (it->with_subcommand && !launches) return false;
    command_.launcher = it->launcher;
    command_.launcher_word = it->with_subcommand ? word + 1 : word;
    if (!command_.python) find_interpreter(word);
    read_options(it->kind);
    return true;
  }

  void read_options(TorchrunKind kind) {
    switch (command_.launcher) {
      case Launcher::torchrun: return read_torchrun(line(), kind, command_);
      case Launcher::deepspeed: return read_deepspeed(line(), command_);
      case Launcher::accelerate: return read_accelerate(line(), command_);
      case Launcher::python:
      case Launcher::opaque: return;
    }
  }

  void find_interpreter(std::size_t word) {
    const std::string& program = words()[word];
    if (other_python_ && program.find('/') == std::string::npos) return;
    command_.python = interpreter_of(program, variables_, read_file_);
  }

  void python(std::size_t program) {
    const OptionWalk walk = walk_options(words(), program + 1, kPythonTable);
    const std::string& interpreter = words()[program];
    if (!other_python_ || interpreter.find('/') != std::string::npos) command_.python = interpreter;
    if (const FoundOption* option = walk.last("-m"))
      module(option->value->word);
    else if (const FoundOption* code = walk.last("-c"))
      script({code->value->word, ScriptKind::code});
    else if (walk.end < words().size())
      file(walk.end);
    else
      opaque(program);  // an interactive interpreter
  }

  void module(std::size_t word) {
    // `-mtorch.distributed.run` may be one word.
    const std::string_view whole = words()[word];
    const std::size_t letter = whole.starts_with('-') ? whole.find('m') + 1 : 0;
    const std::string_view name = whole.substr(letter);
    if (!launcher(kModuleNames, name, word)) script({word, ScriptKind::module}, name);
  }

  void file(std::size_t word) {
    const std::string_view path = words()[word];
    const auto it = std::ranges::find_if(
        kFileNames, [&](const LauncherName& known) { return path.ends_with(known.name); });
    const bool known = it != kFileNames.end() ? launcher(kFileNames, it->name, word)
                                              : launcher(kProgramNames, base_name(path), word);
    if (!known) script({word, ScriptKind::file}, base_name(path));
  }

  void script(Script script, std::string_view name = {}) {
    command_.launcher = Launcher::python;
    command_.script = script;
    serves(name, words().subspan(script.word + 1));
    read_environment();
  }

  void opaque(std::size_t program) {
    const std::string_view name = base_name(words()[program]);
    const auto it = std::ranges::find(kSpreaders, name, &Spreader::name);
    serves(name, words().subspan(program + 1));
    read_environment();
    if (it != kSpreaders.end()) command_.descendants = it->descendants;
  }

  void serves(std::string_view name, std::span<const std::string> arguments) {
    if (!is_server(name, arguments)) return;
    command_.is_server = true;
    command_.serves = tells_that_it_answers(arguments);
    command_.among_nodes = is_one_of_several_nodes(arguments);
  }

  /// A command without a launcher takes its port, and its place in a larger job, from variables.
  void read_environment() {
    const auto port = variables_.find("MASTER_PORT");
    if (port && !port->value.empty()) command_.port = port_in(*port);
    const bool ranked =
        variables_.number("RANK") && variables_.number("WORLD_SIZE").value_or(1) > 1;
    const bool mpi = variables_.number("OMPI_COMM_WORLD_SIZE").value_or(1) > 1 ||
                     variables_.number("PMI_SIZE").value_or(1) > 1;
    const bool slurm = variables_.number("SLURM_STEP_NUM_TASKS").value_or(1) > 1;
    if (ranked || mpi || slurm) command_.descendants = Descendants::some;
    command_.port.other_hosts = speaks_of_other_hosts();
  }

  bool speaks_of_other_hosts() const {
    const auto address = variables_.find("MASTER_ADDR");
    if (address && !address->value.empty() && !is_loopback_name(address->value)) return true;
    return std::ranges::any_of(
        kNodeCounts, [&](const char* name) { return variables_.number(name).value_or(1) > 1; });
  }

  Variables variables_;
  std::string directory_;  ///< into which a wrapper goes; empty: none does
  FileReader read_file_;   ///< sees the files from there
  Command command_;
  bool other_python_ = false;
};

FileAt file_of_host(const std::string& path) {
  FileAt file{true, user_file_text(path)};
  if (file.text) return file;
  std::error_code unclear;  // a file that nobody can judge may well be there
  file.exists = std::filesystem::exists(path, unclear) || unclear;
  return file;
}

}  // namespace

const char* name(Launcher launcher) {
  switch (launcher) {
    case Launcher::torchrun: return "torchrun";
    case Launcher::deepspeed: return "deepspeed";
    case Launcher::accelerate: return "accelerate";
    case Launcher::python: return "python";
    case Launcher::opaque: return "command";
  }
  return "command";
}

Command recognise(std::vector<std::string> argv, const Environment& environment,
                  const FileReader& read_file) {
  return Recogniser(std::move(argv), environment, read_file).recognise();
}

Command recognise(std::vector<std::string> argv, const Environment& environment) {
  return recognise(std::move(argv), environment, file_of_host);
}

namespace {

std::string_view option_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::torchrun: return "--nproc_per_node";
    case Launcher::deepspeed: return "--num_gpus";
    case Launcher::accelerate: return "--num_processes";
    case Launcher::python:
    case Launcher::opaque: return {};
  }
  return {};
}

constexpr std::array<std::string_view, 5> kBesideScript = {"-m", "--module", "--no-python",
                                                           "--no_python", "--"};

// The place before the script, before the "-m" that makes it a module, and before the "--" behind
// which no option counts.
std::size_t place_for_options(const Command& command) {
  std::size_t place = command.script->word;
  while (place > command.launcher_word + 1 &&
         std::ranges::find(kBesideScript, command.argv[place - 1]) != kBesideScript.end())
    --place;
  return place;
}

}  // namespace

std::string launcher_option(const Command& command, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto it = command.meeting.find(name); it != command.meeting.end()) return it->second;
  if (command.script) return {};
  std::string value;
  for (std::size_t i = command.launcher_word + 1; i < command.argv.size(); ++i) {
    const std::string& word = command.argv[i];
    const std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::ranges::replace(name, '_', '-');
    if (std::ranges::find(names, name) == names.end()) continue;
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (i + 1 < command.argv.size())
      value = command.argv[i + 1];
  }
  return value;
}

std::string master_host(const Command& command) {
  const std::string endpoint = launcher_option(command, {"--rdzv-endpoint"});
  if (endpoint.empty()) return launcher_option(command, {"--master-addr", "--main-process-ip"});
  return endpoint_host(endpoint);
}

Result<Command> with_processes(Command command, int processes_per_node) {
  const std::string_view option = option_of(command.launcher);
  if (option.empty() || !command.script)
    return Error{
        Errc::usage,
        fmt::format("it sets {} process{} a node, but safelaunch cannot tell this command how many "
                    "to start; drop it, or put torchrun or --nproc-per-node before the script",
                    processes_per_node, processes_per_node == 1 ? "" : "es")};
  if (command.names_devices)
    return Error{Errc::usage,
                 fmt::format("it sets {} process{} a node, but deepspeed takes no {} beside "
                             "--include and --exclude; drop it, or these",
                             processes_per_node, processes_per_node == 1 ? "" : "es", option)};
  if (command.launcher == Launcher::accelerate && !command.nodes)
    return Error{Errc::usage,
                 fmt::format("it sets {} process{} a node, but how many nodes there are is not "
                             "known; give accelerate its --num_machines, or drop it",
                             processes_per_node, processes_per_node == 1 ? "" : "es")};
  const int nodes = command.launcher == Launcher::accelerate ? command.nodes->max : 1;
  const auto place = command.argv.begin() + static_cast<std::ptrdiff_t>(place_for_options(command));
  command.argv.insert(place, {std::string(option), std::to_string(processes_per_node * nodes)});
  command.script->word += 2;
  command.processes_per_node = processes_per_node;
  return command;
}

Result<Command> with_rank_logs(Command command, const std::string& folder) {
  const bool tees =
      command.launcher == Launcher::torchrun || command.launcher == Launcher::accelerate;
  if (!tees || !command.script)
    return Error{Errc::usage,
                 fmt::format("--rank-files: {} has no place to say that each rank's output is "
                             "kept by itself and shown all the same; torchrun and accelerate "
                             "launch have, and --nproc-per-node needs none",
                             command.launcher == Launcher::opaque ? "this command"
                                                                  : name(command.launcher))};
  if (command.keeps_rank_logs) return command;
  const auto place = command.argv.begin() + static_cast<std::ptrdiff_t>(place_for_options(command));
  command.argv.insert(place, {"--tee", "3", "--log_dir", folder});
  command.script->word += 4;
  return command;
}

}  // namespace safelaunch::job
