#include <algorithm>
#include <array>

#include "command_line.h"
#include "safelaunch/base/format.h"

namespace safelaunch::job {
namespace {

constexpr std::array kMasterPort = {std::string_view("--master_port"),
                                    std::string_view("--master-port")};
constexpr std::array kMainProcessPort = {std::string_view("--main_process_port"),
                                         std::string_view("--main-process-port")};

std::span<const std::string_view> port_options(Launcher launcher) {
  switch (launcher) {
    case Launcher::torchrun:
    case Launcher::deepspeed: return kMasterPort;
    case Launcher::accelerate: return kMainProcessPort;
    case Launcher::python:
    case Launcher::opaque: break;
  }
  return {};
}

/// The words of an option, with its value, that stand among the script's arguments.
struct Misplaced {
  std::size_t word;
  std::size_t count;
};

std::optional<Misplaced> misplaced_port(const Command& command) {
  for (std::size_t at = command.script->word + 1; at < command.argv.size(); ++at) {
    const std::string_view word = command.argv[at];
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto options = port_options(command.launcher);
    if (std::ranges::find(options, word.substr(0, equals)) == options.end()) continue;
    const bool alone = equals == word.size() && at + 1 < command.argv.size();
    return Misplaced{at, alone ? 2U : 1U};
  }
  return std::nullopt;
}

std::vector<std::string> moved_before_script(const Command& command, const Misplaced& misplaced) {
  using Offset = std::vector<std::string>::difference_type;
  std::vector<std::string> words = command.argv;
  const auto first = words.begin() + static_cast<Offset>(misplaced.word);
  std::rotate(words.begin() + static_cast<Offset>(command.launcher_word + 1), first,
              first + static_cast<Offset>(misplaced.count));
  return words;
}

void find_misplaced_port(Command& command) {
  if (!command.script || !std::holds_alternative<NotWritten>(command.port.place)) return;
  const auto misplaced = misplaced_port(command);
  if (!misplaced) return;
  const std::span<const std::string> words = command.argv;
  command.warnings.push_back(
      {Warning::port_after_script,
       fmt::format("{} stands after the script, so {} gets it and {} does not; write: {}",
                   shell_line(words.subspan(misplaced->word, misplaced->count)),
                   command.argv[command.script->word], name(command.launcher),
                   shell_line(moved_before_script(command, *misplaced)))});
}

void find_port_zero(Command& command) {
  const bool one_process =
      command.processes_per_node == ProcessCount{1} && command.nodes == NodeRange{1, 1};
  const bool understood = command.launcher == Launcher::torchrun && command.rendezvous == "c10d";
  const bool spawns = command.port.option.option.size() > 0;
  if (command.port.value != 0 || one_process || understood || !spawns) return;
  command.warnings.push_back(
      {Warning::port_zero,
       fmt::format("port 0 means nothing to {}: the ranks get it as it stands and wait for each "
                   "other for ever; name a free port",
                   name(command.launcher))});
}

}  // namespace

void find_mistakes(Command& command) {
  find_misplaced_port(command);
  find_port_zero(command);
}

}  // namespace safelaunch::job
