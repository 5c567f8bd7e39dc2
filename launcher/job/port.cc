#include "safelaunch/job/port.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "safelaunch/base/format.h"

/// The policy asks in this order: do others start some of the ranks, will the launcher refuse what
/// is written, does it pick the port itself, has the user named one? A launcher on one node starts
/// all ranks. Of a command without a launcher nobody knows: a wrapper may number its rank itself,
/// and its peers start in other terminals or on other hosts.
namespace safelaunch::job {
namespace {

bool is_written(const Command& command) {
  return !std::holds_alternative<NotWritten>(command.port.place);
}

/// Whether the launcher picks the port, and neither a fixed default nor the user decides.
bool picked_by_launcher(const Command& command) {
  switch (command.launcher) {
    case Launcher::torchrun:
      // Without any port a torchrun of 2026 takes a free one. An older one takes 29500 and says so
      // where that is in use, which with_port can heal then. A c10d rendezvous without an endpoint
      // always meets on 29400, and port 0 means "free" to c10d alone. Other backends, etcd say,
      // have a server of their own.
      if (command.standalone || command.port.option.option.empty()) return true;
      if (command.rendezvous == "static") return !is_written(command);
      return command.port.value == 0;
    case Launcher::accelerate:
      // One process meets nobody; with c10d accelerate ignores its own port on a single node.
      return command.processes_per_node == ProcessCount{1} || command.rendezvous == "c10d";
    case Launcher::python:
    case Launcher::opaque: return !is_written(command);
    case Launcher::deepspeed: return false;
  }
  return false;
}

/// Whether torchrun is told that another process holds the store of its rendezvous. It reads these
/// words as true and false, torch/distributed/elastic/rendezvous/api.py.
bool joins_a_store(const Command& command) {
  constexpr std::string_view kIsHost = "is_host=";
  std::string conf = launcher_option(command, {"--rdzv-conf"});
  std::ranges::transform(conf, conf.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t at = conf.find(kIsHost);
  if (command.rendezvous != "c10d" || at == std::string::npos) return false;
  const std::string value = conf.substr(at + kIsHost.size());
  constexpr std::array<std::string_view, 5> kFalse{"0", "false", "f", "no", "n"};
  return std::ranges::find(kFalse, std::string_view(value).substr(0, value.find(','))) !=
         kFalse.end();
}

/// Puts the port into a piece of text: in place of the old port, or where an endpoint has none.
void put_port(std::string& text, std::size_t offset, std::size_t length, int port) {
  text.replace(offset, length, fmt::format("{}{}", length == 0 ? ":" : "", port));
}

void insert_option(Command& command, int port) {
  const auto after_launcher =
      command.argv.begin() + static_cast<std::ptrdiff_t>(command.launcher_word + 1);
  const PortOption& option = command.port.option;
  command.argv.insert(after_launcher,
                      {std::string(option.option), fmt::format("{}{}", option.before_value, port)});
  if (command.script) command.script->word += 2;
  command.port.place =
      InWord{command.launcher_word + 2, option.before_value.size(), std::to_string(port).size()};
}

}  // namespace

PortPolicy port_policy(const Command& command) {
  if (command.descendants != Descendants::all || joins_a_store(command))
    return PortPolicy::multi_node;
  if (command.port.mistyped || picked_by_launcher(command)) return PortPolicy::nothing;
  if (command.port.other_hosts) return PortPolicy::multi_node;
  if (command.port.value.value_or(0) == 0) return PortPolicy::choose;
  const bool plain = command.launcher == Launcher::python || command.launcher == Launcher::opaque;
  return plain ? PortPolicy::if_taken : PortPolicy::user;
}

bool takes_port(const Command& command) {
  return std::holds_alternative<InWord>(command.port.place) ||
         std::holds_alternative<InVariable>(command.port.place) ||
         !command.port.option.option.empty();
}

PortedCommand with_port(Command command, int port) {
  Environment environment;
  if (auto* word = std::get_if<InWord>(&command.port.place)) {
    put_port(command.argv[word->word], word->offset, word->length, port);
    if (word->length == 0) ++word->offset;
    word->length = std::to_string(port).size();
  } else if (auto* variable = std::get_if<InVariable>(&command.port.place)) {
    put_port(variable->value, variable->offset, variable->length, port);
    if (variable->length == 0) ++variable->offset;
    variable->length = std::to_string(port).size();
    environment[variable->variable] = variable->value;
  } else if (!command.port.option.option.empty()) {
    insert_option(command, port);
  }
  if (is_written(command)) command.port.value = port;
  return {std::move(command), std::move(environment)};
}

}  // namespace safelaunch::job
