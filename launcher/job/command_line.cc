#include "command_line.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A setting is a value and its place in argv, in a variable or in a file, so that a port can be
// changed where the launcher reads it. Mistakes are looked for last, when the script's place is
// known: only then is an option behind it the script's own.
namespace safelaunch::job {

Variables::Variables(const Environment& outer) {
  for (const auto& [name, value] : outer)
    settings_.emplace(name, LauncherVariable{value, InVariable{name, value, 0, value.size()}});
}

std::optional<LauncherVariable> Variables::find(std::string_view name) const {
  const auto it = settings_.find(name);
  return it == settings_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<int> Variables::number(std::string_view name) const {
  const auto it = settings_.find(name);
  return it == settings_.end() ? std::nullopt : to_number(it->second.value);
}

void Variables::assign(std::size_t word, std::string_view assignment) {
  const std::size_t value = assignment.find('=') + 1;
  settings_.insert_or_assign(std::string(assignment.substr(0, value - 1)),
                             LauncherVariable{std::string(assignment.substr(value)),
                                              InWord{word, value, assignment.size() - value}});
}

void Variables::unset(std::string_view name) {
  if (const auto it = settings_.find(name); it != settings_.end()) settings_.erase(it);
}

namespace {

/// The place narrowed to a piece of the value that stands there.
PortPlace narrowed(PortPlace place, std::size_t offset, std::size_t length) {
  if (auto* word = std::get_if<InWord>(&place)) {
    word->offset += offset;
    word->length = length;
  } else if (auto* variable = std::get_if<InVariable>(&place)) {
    variable->offset += offset;
    variable->length = length;
  }
  return place;
}

}  // namespace

std::optional<LauncherVariable> CommandLine::setting(const OptionWalk& walk,
                                                     std::string_view name) const {
  const FoundOption* option = walk.last(name);
  if (option == nullptr || !option->value) return std::nullopt;
  return LauncherVariable{std::string(text_at(argv, *option->value)), *option->value};
}

std::string CommandLine::text(const OptionWalk& walk, std::string_view name) const {
  const auto found = setting(walk, name);
  return found ? found->value : std::string();
}

void keep_meeting(std::string_view name, const std::string& value, Command& command) {
  if (value.empty()) return;
  std::string option = "--" + std::string(name);
  std::ranges::replace(option, '_', '-');
  command.meeting[option] = value;
}

/// Behind an unknown option nobody knows where the script begins, so none is assumed.
void find_script(const CommandLine& line, const OptionWalk& walk, ScriptKind kind,
                 Command& command) {
  if (walk.unclear) {
    command.warnings.push_back(
        {Warning::unknown_option, std::string(name(command.launcher)) + " option " +
                                      line.argv[*walk.unclear] +
                                      " is not known here, so safelaunch cannot tell where the "
                                      "script begins; write it as --option=value"});
  } else if (walk.end < line.argv.size()) {
    command.script = Script{walk.end, kind};
  }
}

CommandPort port_in(const LauncherVariable& number) {
  const auto port = to_number(number.value);
  const bool exists = port && *port >= 0 && *port <= 65535;
  return {number.place, exists ? port : std::nullopt, {}, !exists};
}

CommandPort port_in_endpoint(const LauncherVariable& endpoint) {
  const std::size_t size = endpoint.value.size();
  const std::size_t colon = endpoint.value.rfind(':');
  const bool address_alone =
      colon == std::string::npos || endpoint.value.ends_with(']');  // "[::1]"
  if (address_alone) return {narrowed(endpoint.place, size, 0), std::nullopt, {}};
  return port_in(
      {endpoint.value.substr(colon + 1), narrowed(endpoint.place, colon + 1, size - colon - 1)});
}

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

/// A port option among the script's arguments is most likely meant for the launcher.
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
  if (command.standalone) return;  // no place of the option would change its port
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
