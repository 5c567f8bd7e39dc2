#include "safelaunch/job/processes.h"

#include "safelaunch/base/format.h"

namespace safelaunch::job {
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

// Before the script, and before the "-m" that makes it a module.
std::size_t place_for_options(const Command& command) {
  const std::size_t script = command.script->word;
  const bool module_flag =
      script > 0 &&
      (command.argv[script - 1] == "-m" || command.argv[script - 1] == "--module" ||
       command.argv[script - 1] == "--no-python" || command.argv[script - 1] == "--no_python");
  return module_flag ? script - 1 : script;
}

}  // namespace

Result<Command> with_processes(Command command, int processes_per_node) {
  const std::string_view option = option_of(command.launcher);
  if (option.empty() || !command.script)
    return Error{
        Errc::usage,
        fmt::format("the profile asks for {} processes, and a {} command has no place where "
                    "that could be said",
                    processes_per_node, name(command.launcher))};
  const int nodes =
      command.launcher == Launcher::accelerate && command.nodes ? command.nodes->max : 1;
  const auto place = command.argv.begin() + static_cast<std::ptrdiff_t>(place_for_options(command));
  command.argv.insert(place, {std::string(option), std::to_string(processes_per_node * nodes)});
  command.script->word += 2;
  command.processes_per_node = processes_per_node;
  return command;
}

}  // namespace safelaunch::job
